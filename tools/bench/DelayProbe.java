// Measures delay: produces at a fixed rate with the time of sending in each record, reads the same
// records at the source and at the mirror, and prints percentiles of both and of the difference.
//
//   java -cp ... DelayProbe.java SOURCE MIRROR TOPIC PARTITIONS RATE SECONDS SIZE CODEC
//
// Producer and both consumers share one process, so one clock is enough. The first five seconds
// warm up and do not count.
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Properties;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

public class DelayProbe {
  static final int WARM_SECONDS = 5;
  static final long GIVE_UP_NS = TimeUnit.SECONDS.toNanos(30);

  // Reads records at one cluster and notes when each sequence number was seen.
  static class Reader extends Thread {
    final String bootstrap;
    final List<TopicPartition> partitions;
    final long mark;
    final long[] seen;
    final CountDownLatch ready;
    volatile long lastWanted = Long.MAX_VALUE;

    Reader(String bootstrap, List<TopicPartition> partitions, long mark, int total, CountDownLatch ready) {
      this.bootstrap = bootstrap;
      this.partitions = partitions;
      this.mark = mark;
      this.seen = new long[total];
      this.ready = ready;
    }

    @Override
    public void run() {
      Properties props = new Properties();
      props.put("bootstrap.servers", bootstrap);
      props.put("enable.auto.commit", "false");
      props.put("max.poll.records", "5000");
      try (KafkaConsumer<byte[], byte[]> consumer =
               new KafkaConsumer<>(props, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
        consumer.assign(partitions);
        consumer.seekToEnd(partitions);
        partitions.forEach(consumer::position);
        ready.countDown();
        int count = 0;
        while (count < seen.length && System.nanoTime() < lastWanted) {
          for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(100))) {
            ByteBuffer value = ByteBuffer.wrap(record.value());
            if (value.getLong() == mark) {
              seen[(int) value.getLong()] = System.nanoTime();
              count++;
            }
          }
        }
      } catch (RuntimeException error) {
        error.printStackTrace();
        ready.countDown();
      }
    }
  }

  public static void main(String[] args) throws Exception {
    String topic = args[2];
    int rate = Integer.parseInt(args[4]);
    int total = rate * (Integer.parseInt(args[5]) + WARM_SECONDS);
    List<TopicPartition> partitions = new ArrayList<>();
    for (int i = 0; i < Integer.parseInt(args[3]); i++) {
      partitions.add(new TopicPartition(topic, i));
    }
    long mark = new Random().nextLong();
    CountDownLatch ready = new CountDownLatch(2);
    Reader source = new Reader(args[0], partitions, mark, total, ready);
    Reader mirror = new Reader(args[1], partitions, mark, total, ready);
    source.start();
    mirror.start();
    ready.await();
    long[] sent = produce(args[0], args[7], partitions, rate, total, Integer.parseInt(args[6]), mark);
    source.lastWanted = mirror.lastWanted = System.nanoTime() + GIVE_UP_NS;
    source.join();
    mirror.join();
    report(sent, source.seen, mirror.seen, rate * WARM_SECONDS);
  }

  static long[] produce(String bootstrap, String codec, List<TopicPartition> partitions, int rate, int total,
                        int size, long mark) {
    Properties props = new Properties();
    props.put("bootstrap.servers", bootstrap);
    props.put("acks", "1");
    props.put("linger.ms", "1");
    props.put("compression.type", codec);
    long[] sent = new long[total];
    byte[] filler = new byte[size];
    new Random(3).nextBytes(filler);
    try (KafkaProducer<byte[], byte[]> producer =
             new KafkaProducer<>(props, new ByteArraySerializer(), new ByteArraySerializer())) {
      producer.partitionsFor(partitions.get(0).topic());
      long start = System.nanoTime();
      for (int i = 0; i < total; i++) {
        long due = start + i * 1_000_000_000L / rate;
        while (System.nanoTime() < due) {
          LockSupport.parkNanos(50_000);
        }
        byte[] value = filler.clone();
        ByteBuffer.wrap(value).putLong(mark).putLong(i);
        TopicPartition tp = partitions.get(i % partitions.size());
        sent[i] = System.nanoTime();
        producer.send(new ProducerRecord<>(tp.topic(), tp.partition(), null, value));
      }
      producer.flush();
    }
    return sent;
  }

  static void report(long[] sent, long[] source, long[] mirror, int warm) {
    double[] atSource = new double[sent.length];
    double[] atMirror = new double[sent.length];
    double[] added = new double[sent.length];
    int count = 0;
    for (int i = warm; i < sent.length; i++) {
      if (source[i] != 0 && mirror[i] != 0) {
        atSource[count] = (source[i] - sent[i]) / 1e6;
        atMirror[count] = (mirror[i] - sent[i]) / 1e6;
        added[count++] = (mirror[i] - source[i]) / 1e6;
      }
    }
    System.out.printf("{\"measured\": %d, \"missing\": %d, %s, %s, %s}%n", count, sent.length - warm - count,
        row("source", atSource, count), row("mirror", atMirror, count), row("added", added, count));
  }

  static String row(String name, double[] values, int count) {
    double[] sorted = Arrays.copyOf(values, count);
    Arrays.sort(sorted);
    double half = count == 0 ? -1 : sorted[count / 2];
    double most = count == 0 ? -1 : sorted[(int) (count * 0.99)];
    return String.format("\"%s_p50_ms\": %.2f, \"%s_p99_ms\": %.2f", name, half, name, most);
  }
}
