// A long-lived Java client for the tests: one JSON command a line on standard input, one JSON answer
// a line on standard output. Starting a JVM for each call would cost more than the tests themselves.
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import org.apache.kafka.common.utils.internals.Exit;

public class ClientAgent {
  static final ObjectMapper JSON = new ObjectMapper();

  // Leaves a tool instead of the JVM. Some tools catch it and exit a second time: the first counts.
  static class ToolExit extends RuntimeException {
    ToolExit(String message) {
      super(message);
    }
  }

  static Integer exitCode;

  static void leave(int code, String message) {
    if (exitCode == null) {
      exitCode = code;
    }
    throw new ToolExit(message);
  }

  public static void main(String[] args) throws Exception {
    PrintStream answers = System.out;
    System.setOut(System.err);
    Exit.setExitProcedure(ClientAgent::leave);
    Exit.setHaltProcedure(ClientAgent::leave);
    Records records = new Records();
    Admins admins = new Admins();
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      ObjectNode answer = JSON.createObjectNode();
      try {
        JsonNode command = JSON.readTree(line);
        answer.set("ok", run(command, records, admins));
      } catch (Throwable error) {
        Throwable cause = error.getCause() == null ? error : error.getCause();
        answer.put("error", cause.getClass().getSimpleName() + ": " + cause.getMessage());
        cause.printStackTrace();
      }
      answers.println(JSON.writeValueAsString(answer));
      answers.flush();
    }
  }

  static JsonNode run(JsonNode command, Records records, Admins admins) throws Exception {
    switch (command.get("do").asText()) {
      case "tool": return tool(command);
      case "produce": return records.produce(command);
      case "finish": return records.finish(command);
      case "consume": return records.consume(command);
      case "commit": return records.commit(command);
      case "create": return admins.create(command);
      case "topics": return admins.topics(command);
      case "groups": return admins.groups(command);
      case "alter": return admins.alter(command);
      case "configs": return admins.configs(command);
      case "delete": return admins.delete(command);
      case "cluster": return admins.cluster(command);
      default: throw new IllegalArgumentException("unknown command " + command.get("do"));
    }
  }

  // Runs the main method of the first class that exists; {exit, out} with both streams in `out`.
  static JsonNode tool(JsonNode command) throws Exception {
    String[] arguments = JSON.convertValue(command.get("args"), String[].class);
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    PrintStream capture = new PrintStream(bytes, true, StandardCharsets.UTF_8);
    PrintStream out = System.out;
    PrintStream err = System.err;
    exitCode = null;
    System.setOut(capture);
    System.setErr(capture);
    try {
      find(command.get("classes")).getMethod("main", String[].class).invoke(null, (Object) arguments);
    } catch (InvocationTargetException error) {
      if (!(error.getCause() instanceof ToolExit)) {
        throw error;
      }
      if (error.getCause().getMessage() != null) {
        capture.println(error.getCause().getMessage());
      }
    } finally {
      System.setOut(out);
      System.setErr(err);
    }
    return JSON.createObjectNode().put("exit", exitCode == null ? 0 : exitCode).put("out", bytes.toString(StandardCharsets.UTF_8));
  }

  static Class<?> find(JsonNode names) throws ClassNotFoundException {
    for (JsonNode name : names) {
      try {
        return Class.forName(name.asText());
      } catch (ClassNotFoundException absent) {
        continue;
      }
    }
    throw new ClassNotFoundException(names.toString());
  }
}
