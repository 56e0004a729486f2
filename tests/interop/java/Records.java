// Producing and consuming with the stock Java clients, every part of a record included.
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Random;
import java.util.concurrent.Future;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

public class Records {
  // Producers whose transaction was left open, by transactional id.
  private final Map<String, KafkaProducer<byte[], byte[]>> open = new HashMap<>();

  // {bootstrap, topic, partitions, count, seed, size, props, end: none|commit|abort|open}
  // Sends `count` records made from `seed`, spread over the partitions; answers {topic-partition: last offset}.
  // Every tenth value is null, every seventh key is null, every third record has headers.
  JsonNode produce(JsonNode command) throws Exception {
    Properties props = properties(command);
    String end = command.path("end").asText("none");
    String id = props.getProperty("transactional.id");
    KafkaProducer<byte[], byte[]> known = id == null ? null : open.remove(id);
    KafkaProducer<byte[], byte[]> producer = known != null ? known
        : new KafkaProducer<>(props, new ByteArraySerializer(), new ByteArraySerializer());
    boolean keep = false;
    try {
      if (id != null && known == null) {
        producer.initTransactions();
        producer.beginTransaction();
      }
      ObjectNode offsets = send(producer, command);
      keep = end.equals("open");
      if (keep) {
        open.put(id, producer);
      } else if (end.equals("commit")) {
        producer.commitTransaction();
      } else if (end.equals("abort")) {
        producer.abortTransaction();
      }
      return offsets;
    } finally {
      if (!keep) {
        producer.close(Duration.ofSeconds(20));
      }
    }
  }

  // {id, end: commit|abort|forget}: ends a transaction that was left open.
  JsonNode finish(JsonNode command) {
    KafkaProducer<byte[], byte[]> producer = open.remove(command.get("id").asText());
    String end = command.get("end").asText();
    if (end.equals("commit")) {
      producer.commitTransaction();
    } else if (end.equals("abort")) {
      producer.abortTransaction();
    }
    producer.close(Duration.ofSeconds(end.equals("forget") ? 0 : 20));
    return ClientAgent.JSON.createObjectNode();
  }

  private ObjectNode send(KafkaProducer<byte[], byte[]> producer, JsonNode command) throws Exception {
    Random random = new Random(command.path("seed").asLong(1));
    int partitions = command.path("partitions").asInt(1);
    int count = command.get("count").asInt();
    int size = command.path("size").asInt(100);
    long time = command.path("timestamp").asLong(1_700_000_000_000L);
    List<Future<RecordMetadata>> sent = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      byte[] key = i % 7 == 0 ? null : ("key-" + random.nextInt(1000)).getBytes();
      byte[] value = i % 10 == 0 ? null : text(random, size);
      ProducerRecord<byte[], byte[]> record =
          new ProducerRecord<>(command.get("topic").asText(), i % partitions, time + i, key, value);
      if (i % 3 == 0) {
        record.headers().add("h1", ("v" + i).getBytes()).add("h2", null).add("h1", new byte[0]);
      }
      sent.add(producer.send(record));
    }
    producer.flush();
    ObjectNode offsets = ClientAgent.JSON.createObjectNode();
    for (Future<RecordMetadata> future : sent) {
      RecordMetadata meta = future.get();
      offsets.put(meta.topic() + "-" + meta.partition(), meta.offset());
    }
    return offsets;
  }

  // Compressible text of about `size` bytes.
  private byte[] text(Random random, int size) {
    StringBuilder builder = new StringBuilder();
    while (builder.length() < size) {
      builder.append("word").append(random.nextInt(500)).append(' ');
    }
    return builder.toString().getBytes();
  }

  // {bootstrap, topic, isolation, group?, props}: every record of the topic up to its end, as objects
  // {p, o, t, k, v, h, e}; keys, values and header values in base64, e is the leader epoch.
  JsonNode consume(JsonNode command) {
    Properties props = properties(command);
    props.putIfAbsent("isolation.level", command.path("isolation").asText("read_uncommitted"));
    props.putIfAbsent("enable.auto.commit", "false");
    ArrayNode records = ClientAgent.JSON.createArrayNode();
    try (KafkaConsumer<byte[], byte[]> consumer =
             new KafkaConsumer<>(props, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
      List<TopicPartition> partitions = consumer.partitionsFor(command.get("topic").asText()).stream()
          .map(info -> new TopicPartition(info.topic(), info.partition())).collect(Collectors.toList());
      consumer.assign(partitions);
      consumer.seekToBeginning(partitions);
      Map<TopicPartition, Long> ends = consumer.endOffsets(partitions);
      long limit = System.nanoTime() + command.path("seconds").asLong(60) * 1_000_000_000L;
      while (partitions.stream().anyMatch(tp -> consumer.position(tp) < ends.get(tp))) {
        for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(500))) {
          if (record.offset() < ends.get(new TopicPartition(record.topic(), record.partition()))) {
            records.add(describe(record));
          }
        }
        if (System.nanoTime() > limit) {
          throw new IllegalStateException("the end " + ends + " was not reached; " + records.size() + " records");
        }
      }
    }
    return records;
  }

  private ObjectNode describe(ConsumerRecord<byte[], byte[]> record) {
    ObjectNode node = ClientAgent.JSON.createObjectNode();
    node.put("p", record.partition()).put("o", record.offset()).put("t", record.timestamp());
    node.put("tt", record.timestampType().name).put("k", encode(record.key())).put("v", encode(record.value()));
    ArrayNode headers = node.putArray("h");
    for (Header header : record.headers()) {
      headers.addArray().add(header.key()).add(encode(header.value()));
    }
    node.put("e", record.leaderEpoch().orElse(-1));
    return node;
  }

  private String encode(byte[] bytes) {
    return bytes == null ? null : Base64.getEncoder().encodeToString(bytes);
  }

  // {bootstrap, group, topic, offsets: {partition: offset}, metadata}: commits as a consumer does.
  JsonNode commit(JsonNode command) {
    Properties props = properties(command);
    props.put("group.id", command.get("group").asText());
    Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
    command.get("offsets").fields().forEachRemaining(entry -> offsets.put(
        new TopicPartition(command.get("topic").asText(), Integer.parseInt(entry.getKey())),
        new OffsetAndMetadata(entry.getValue().asLong(), command.path("metadata").asText(""))));
    try (KafkaConsumer<byte[], byte[]> consumer =
             new KafkaConsumer<>(props, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
      consumer.assign(offsets.keySet());
      consumer.commitSync(offsets);
    }
    return ClientAgent.JSON.createObjectNode();
  }

  static Properties properties(JsonNode command) {
    Properties props = new Properties();
    props.put("bootstrap.servers", command.get("bootstrap").asText());
    command.path("props").fields().forEachRemaining(e -> props.put(e.getKey(), e.getValue().asText()));
    return props;
  }
}
