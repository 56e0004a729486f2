// Kafka's own codec as the judge of ours.
//   GoldenWire SEED OTHERS MADE VERDICTS
// OTHERS holds samples that our codec made; for each of its messages the newest Java classes make
// samples of their own into MADE, and each of its samples is decoded, encoded again and rendered;
// VERDICTS gets a line for every sample that does not come out the same, and one line a message
// "range NAME MIN MAX" or "unknown NAME".
// Sample: name (2 bytes length), version (2), bytes (4), JSON (4); all lengths big-endian.
// Values come from the schema of the version, which each class carries: what Kafka itself says a
// version has, not what our schema files say.
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.lang.reflect.ParameterizedType;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.ObjectSerializationCache;
import org.apache.kafka.common.protocol.types.BoundField;
import org.apache.kafka.common.protocol.types.Field;
import org.apache.kafka.common.protocol.types.RawTaggedField;
import org.apache.kafka.common.protocol.types.Schema;
import org.apache.kafka.common.protocol.types.TaggedFields;
import org.apache.kafka.common.protocol.types.Type;

public final class GoldenWire {
  private static final String[] PLACES = {
    "org.apache.kafka.common.message.%sData",
    "org.apache.kafka.common.message.%s",
    "org.apache.kafka.common.metadata.%s",
    "org.apache.kafka.coordinator.group.generated.%s",
    "org.apache.kafka.coordinator.transaction.generated.%s",
    "org.apache.kafka.server.log.remote.metadata.storage.generated.%s",
  };
  private static final int SAMPLES = 12;
  // Kinds of sample, by their number.
  private static final int DEFAULTS = 0;
  private static final int NULLS = 1;
  private static final int LONG = 2;

  private final Random random;
  private final ObjectMapper mapper = new ObjectMapper();
  private final Map<Class<?>, Map<String, Method>> setters = new HashMap<>();
  private int kind;

  private GoldenWire(long seed) {
    random = new Random(seed);
  }

  private record Sample(String name, short version, byte[] bytes, String json) {
    void write(DataOutputStream out) throws IOException {
      byte[] text = name.getBytes(StandardCharsets.UTF_8);
      out.writeShort(text.length);
      out.write(text);
      out.writeShort(version);
      out.writeInt(bytes.length);
      out.write(bytes);
      byte[] rendering = json.getBytes(StandardCharsets.UTF_8);
      out.writeInt(rendering.length);
      out.write(rendering);
    }

    static Sample read(DataInputStream in) throws IOException {
      int length;
      try {
        length = in.readUnsignedShort();
      } catch (EOFException end) {
        return null;
      }
      String name = new String(in.readNBytes(length), StandardCharsets.UTF_8);
      short version = in.readShort();
      byte[] bytes = in.readNBytes(in.readInt());
      return new Sample(name, version, bytes,
          new String(in.readNBytes(in.readInt()), StandardCharsets.UTF_8));
    }
  }

  private static Class<?> find(String name) {
    for (String place : PLACES) {
      try {
        return Class.forName(String.format(place, name));
      } catch (ClassNotFoundException absent) {
        // The next place may have it.
      }
    }
    return null;
  }

  private static short constant(Class<?> message, String name) throws ReflectiveOperationException {
    return message.getField(name).getShort(null);
  }

  private static byte[] encode(Message message, short version) {
    ObjectSerializationCache cache = new ObjectSerializationCache();
    int size = message.size(cache, version);
    ByteBuffer buffer = ByteBuffer.allocate(size);
    message.write(new ByteBufferAccessor(buffer), cache, version);
    if (buffer.hasRemaining()) {
      throw new IllegalStateException(buffer.remaining() + " bytes fewer than size() said");
    }
    return buffer.array();
  }

  private static JsonNode json(Message message, short version) throws ReflectiveOperationException {
    Class<?> converter = Class.forName(message.getClass().getName() + "JsonConverter");
    Method write = converter.getMethod("write", message.getClass(), short.class, boolean.class);
    return (JsonNode) write.invoke(null, message, version, false);
  }

  private Message make(Class<?> type, short version) throws ReflectiveOperationException {
    Schema[] schemas = (Schema[]) type.getField("SCHEMAS").get(null);
    Message message = (Message) type.getConstructor().newInstance();
    if (kind != DEFAULTS) {
      fill(message, schemas[version], 0);
    }
    return message;
  }

  private Map<String, Method> settersOf(Class<?> type) {
    return setters.computeIfAbsent(type, t -> {
      Map<String, Method> found = new HashMap<>();
      for (Method method : t.getMethods()) {
        if (method.getName().startsWith("set") && method.getParameterCount() == 1) {
          found.put(method.getName().substring(3).toLowerCase(), method);
        }
      }
      return found;
    });
  }

  private void fill(Message message, Schema schema, int depth) throws ReflectiveOperationException {
    for (BoundField field : schema.fields()) {
      if (field.def.type instanceof TaggedFields tagged) {
        for (Field each : tagged.fields().values()) {
          if (kind != NULLS && random.nextInt(3) > 0) {
            set(message, each, depth);
          }
        }
        unknownTags(message);
      } else {
        set(message, field.def, depth);
      }
    }
  }

  private void unknownTags(Message message) {
    int tag = 5000 + random.nextInt(3);
    for (int count = kind == NULLS ? 0 : random.nextInt(4) - 1; count > 0; --count) {
      message.unknownTaggedFields().add(new RawTaggedField(tag, bytes(random.nextInt(5))));
      tag += 1 + random.nextInt(100);
    }
  }

  private void set(Message message, Field field, int depth) throws ReflectiveOperationException {
    Method setter = settersOf(message.getClass()).get(field.name.replace("_", ""));
    if (setter == null) {
      throw new IllegalStateException(message.getClass() + " has no setter for " + field.name);
    }
    java.lang.reflect.Type wanted = setter.getGenericParameterTypes()[0];
    setter.invoke(message, value(field.type, wanted, depth));
  }

  private Object value(Type type, java.lang.reflect.Type wanted, int depth)
      throws ReflectiveOperationException {
    if (type.isNullable() && (kind == NULLS || random.nextInt(4) == 0)) {
      return null;
    }
    if (type.isArray()) {
      return collection(type.arrayElementType().get(), wanted, depth);
    }
    if (type instanceof Schema schema) {
      Message struct = (Message) ((Class<?>) wanted).getConstructor().newInstance();
      fill(struct, schema, depth + 1);
      return struct;
    }
    String name = type.toString().replace("COMPACT_", "").replace("NULLABLE_", "");
    return switch (name) {
      case "BOOLEAN" -> random.nextBoolean();
      case "INT8" -> (byte) random.nextInt();
      case "INT16" -> (short) random.nextInt();
      case "UINT16" -> random.nextInt(65536);
      case "INT32" -> random.nextInt();
      case "UINT32" -> random.nextInt() & 0xffffffffL;
      case "INT64" -> random.nextLong();
      case "FLOAT64" -> random.nextInt() / 8.0;
      case "UUID" -> new Uuid(random.nextLong(), random.nextLong());
      case "STRING" -> string();
      case "BYTES" -> wanted == ByteBuffer.class ? ByteBuffer.wrap(bytes(length())) : bytes(length());
      case "RECORDS" -> records();
      default -> throw new IllegalStateException("type " + name);
    };
  }

  private int length() {
    return kind == LONG && random.nextInt(6) == 0 ? 128 + random.nextInt(300) : random.nextInt(9);
  }

  private byte[] bytes(int length) {
    byte[] out = new byte[length];
    random.nextBytes(out);
    return out;
  }

  private String string() {
    int length = length();
    if (kind == LONG && random.nextInt(200) == 0) {
      length = 17000;
    }
    StringBuilder out = new StringBuilder();
    for (int i = 0; i < length; ++i) {
      switch (random.nextInt(8)) {
        case 0 -> out.appendCodePoint(0x4e00 + random.nextInt(100));
        case 1 -> out.appendCodePoint(0x1f600 + random.nextInt(20));
        case 2 -> out.append((char) random.nextInt(0x80));
        default -> out.append((char) ('a' + random.nextInt(26)));
      }
    }
    return out.toString();
  }

  private Object records() throws ReflectiveOperationException {
    Class<?> type = Class.forName("org.apache.kafka.common.record.internal.MemoryRecords");
    byte[] data = bytes(kind == LONG ? 1500 : random.nextInt(100));
    return type.getMethod("readableRecords", ByteBuffer.class).invoke(null, ByteBuffer.wrap(data));
  }

  @SuppressWarnings("unchecked")
  private Object collection(Type element, java.lang.reflect.Type wanted, int depth)
      throws ReflectiveOperationException {
    Collection<Object> out;
    java.lang.reflect.Type inner;
    if (wanted instanceof ParameterizedType list) {
      out = new ArrayList<>();
      inner = list.getActualTypeArguments()[0];
    } else {
      Class<?> type = (Class<?>) wanted;
      out = (Collection<Object>) type.getConstructor().newInstance();
      inner = ((ParameterizedType) type.getGenericSuperclass()).getActualTypeArguments()[0];
    }
    int count = switch (kind) {
      case NULLS -> 0;
      case LONG -> depth == 0 ? 120 + random.nextInt(20) : random.nextInt(2);
      default -> random.nextInt(4);
    };
    for (int i = 0; i < count; ++i) {
      out.add(value(element, inner, depth + 1));
    }
    return out;
  }

  private void makeSamples(String name, Class<?> type, DataOutputStream out) throws Exception {
    short min = constant(type, "LOWEST_SUPPORTED_VERSION");
    short max = constant(type, "HIGHEST_SUPPORTED_VERSION");
    for (short version = min; version <= max; ++version) {
      for (kind = 0; kind < SAMPLES; ++kind) {
        Message message = make(type, version);
        byte[] bytes = encode(message, version);
        new Sample(name, version, bytes, json(message, version).toString()).write(out);
      }
    }
  }

  // Tagged additions of the mirror protocol, which these classes keep as unknown tags.
  private static void dropAdditions(JsonNode node) {
    if (node instanceof ObjectNode object) {
      object.remove(List.of("mirrorLeaderEpoch", "mirrorInfo"));
    }
    node.forEach(GoldenWire::dropAdditions);
  }

  private String check(Sample sample, Class<?> type) {
    try {
      Constructor<?> empty = type.getConstructor();
      Message message = (Message) empty.newInstance();
      ByteBuffer buffer = ByteBuffer.wrap(sample.bytes);
      message.read(new ByteBufferAccessor(buffer), sample.version);
      if (buffer.hasRemaining()) {
        return buffer.remaining() + " bytes left over";
      }
      if (!Arrays.equals(encode(message, sample.version), sample.bytes)) {
        return "encodes to other bytes";
      }
      JsonNode theirs = mapper.readTree(sample.json);
      dropAdditions(theirs);
      JsonNode ours = mapper.readTree(json(message, sample.version).toString());
      return ours.equals(theirs) ? null : "values differ: " + ours + " and " + theirs;
    } catch (ReflectiveOperationException | IOException | RuntimeException failure) {
      return failure + " " + failure.getCause();
    }
  }

  public static void main(String[] arguments) throws Exception {
    GoldenWire golden = new GoldenWire(Long.parseLong(arguments[0]));
    Map<String, Class<?>> types = new HashMap<>();
    Set<String> unknown = new LinkedHashSet<>();
    List<String> order = new ArrayList<>();
    try (DataInputStream in =
            new DataInputStream(new BufferedInputStream(new FileInputStream(arguments[1])));
        PrintStream verdicts = new PrintStream(arguments[3], StandardCharsets.UTF_8)) {
      for (Sample sample = Sample.read(in); sample != null; sample = Sample.read(in)) {
        if (!types.containsKey(sample.name) && unknown.add(sample.name)) {
          Class<?> type = find(sample.name);
          if (type == null) {
            verdicts.println("unknown " + sample.name);
          } else {
            unknown.remove(sample.name);
            types.put(sample.name, type);
            order.add(sample.name);
            verdicts.println("range " + sample.name + " " + constant(type, "LOWEST_SUPPORTED_VERSION")
                + " " + constant(type, "HIGHEST_SUPPORTED_VERSION"));
          }
        }
        Class<?> type = types.get(sample.name);
        String verdict = type == null ? null : golden.check(sample, type);
        if (verdict != null) {
          verdicts.println("bad " + sample.name + " " + sample.version + " "
              + verdict.replace('\n', ' '));
        }
      }
      try (DataOutputStream out =
          new DataOutputStream(new BufferedOutputStream(new FileOutputStream(arguments[2])))) {
        for (String name : order) {
          golden.makeSamples(name, types.get(name), out);
        }
      }
      verdicts.println("done");
    }
  }
}
