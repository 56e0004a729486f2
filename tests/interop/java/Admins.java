// The Java Admin client: topics, groups, configurations.
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.DescribeClusterResult;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.TopicPartitionInfo;
import org.apache.kafka.common.config.ConfigResource;

public class Admins {
  private static final long SECONDS = 30;

  // {bootstrap, topic, partitions, replicas, configs}
  JsonNode create(JsonNode command) throws Exception {
    try (Admin admin = Admin.create(Records.properties(command))) {
      NewTopic topic = new NewTopic(command.get("topic").asText(),
          Optional.of(command.path("partitions").asInt(1)), Optional.of((short) command.path("replicas").asInt(1)));
      Map<String, String> configs = new HashMap<>();
      command.path("configs").fields().forEachRemaining(e -> configs.put(e.getKey(), e.getValue().asText()));
      admin.createTopics(List.of(topic.configs(configs))).all().get(SECONDS, TimeUnit.SECONDS);
    }
    return ClientAgent.JSON.createObjectNode();
  }

  // {bootstrap, internal}: {name: {id, partitions: [{leader, replicas, isr}]}} of every topic.
  JsonNode topics(JsonNode command) throws Exception {
    ObjectNode answer = ClientAgent.JSON.createObjectNode();
    try (Admin admin = Admin.create(Records.properties(command))) {
      List<String> names = new ArrayList<>(admin.listTopics().names().get(SECONDS, TimeUnit.SECONDS));
      Map<String, TopicDescription> all =
          admin.describeTopics(names).allTopicNames().get(SECONDS, TimeUnit.SECONDS);
      for (TopicDescription topic : all.values()) {
        ObjectNode node = answer.putObject(topic.name());
        node.put("id", topic.topicId().toString());
        ArrayNode partitions = node.putArray("partitions");
        for (TopicPartitionInfo info : topic.partitions()) {
          ObjectNode partition = partitions.addObject();
          partition.put("leader", info.leader() == null ? -1 : info.leader().id());
          partition.put("replicas", info.replicas().size()).put("isr", info.isr().size());
        }
      }
    }
    return answer;
  }

  // {bootstrap, group}: {topic-partition: [offset, metadata]} of the committed offsets.
  JsonNode groups(JsonNode command) throws Exception {
    ObjectNode answer = ClientAgent.JSON.createObjectNode();
    try (Admin admin = Admin.create(Records.properties(command))) {
      Map<TopicPartition, OffsetAndMetadata> offsets =
          admin.listConsumerGroupOffsets(command.get("group").asText())
              .partitionsToOffsetAndMetadata().get(SECONDS, TimeUnit.SECONDS);
      offsets.forEach((tp, offset) -> {
        if (offset != null) {
          answer.putArray(tp.toString()).add(offset.offset()).add(offset.metadata());
        }
      });
    }
    return answer;
  }

  private ConfigResource resource(JsonNode command) {
    return new ConfigResource(ConfigResource.Type.valueOf(command.path("type").asText("TOPIC")),
        command.get("name").asText());
  }

  // {bootstrap, type, name, set: {key: value or null}}: IncrementalAlterConfigs; null resets a key.
  JsonNode alter(JsonNode command) throws Exception {
    List<AlterConfigOp> changes = new ArrayList<>();
    command.get("set").fields().forEachRemaining(e -> changes.add(new AlterConfigOp(
        new ConfigEntry(e.getKey(), e.getValue().isNull() ? "" : e.getValue().asText()),
        e.getValue().isNull() ? AlterConfigOp.OpType.DELETE : AlterConfigOp.OpType.SET)));
    try (Admin admin = Admin.create(Records.properties(command))) {
      admin.incrementalAlterConfigs(Map.of(resource(command), changes)).all().get(SECONDS, TimeUnit.SECONDS);
    }
    return ClientAgent.JSON.createObjectNode();
  }

  // {bootstrap, type, name}: {key: [value, source]}.
  JsonNode configs(JsonNode command) throws Exception {
    ObjectNode answer = ClientAgent.JSON.createObjectNode();
    ConfigResource resource = resource(command);
    try (Admin admin = Admin.create(Records.properties(command))) {
      Config config = admin.describeConfigs(List.of(resource)).all().get(SECONDS, TimeUnit.SECONDS).get(resource);
      for (ConfigEntry entry : config.entries()) {
        answer.putArray(entry.name()).add(entry.value()).add(entry.source().name());
      }
    }
    return answer;
  }

  // {bootstrap, topic}: deletes a topic.
  JsonNode delete(JsonNode command) throws Exception {
    try (Admin admin = Admin.create(Records.properties(command))) {
      admin.deleteTopics(List.of(command.get("topic").asText())).all().get(SECONDS, TimeUnit.SECONDS);
    }
    return ClientAgent.JSON.createObjectNode();
  }

  // {bootstrap}: {id, controller, nodes: ["host:port"]} by DescribeCluster.
  JsonNode cluster(JsonNode command) throws Exception {
    ObjectNode answer = ClientAgent.JSON.createObjectNode();
    try (Admin admin = Admin.create(Records.properties(command))) {
      DescribeClusterResult result = admin.describeCluster();
      answer.put("id", result.clusterId().get(SECONDS, TimeUnit.SECONDS));
      answer.put("controller", result.controller().get(SECONDS, TimeUnit.SECONDS).id());
      ArrayNode nodes = answer.putArray("nodes");
      for (Node node : result.nodes().get(SECONDS, TimeUnit.SECONDS)) {
        nodes.add(node.host() + ":" + node.port());
      }
    }
    return answer;
  }
}
