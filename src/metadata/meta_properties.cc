// meta.properties: reading, writing, and what makes a directory a foreign one.
#include "kmirror/metadata/meta_properties.h"

#include <map>

#include "kmirror/metadata/config_def.h"
#include "kmirror/model/error_code.h"

namespace kmirror::metadata {
namespace {

constexpr std::size_t kMaxBytes = 65'536;

Error bad_file(std::string text) { return kafka_error(ErrorCode::INVALID_CONFIG, std::move(text)); }

std::string path_in(const std::string& directory) { return directory + "/meta.properties"; }

Result<std::map<std::string, std::string, std::less<>>> parse_lines(std::string_view text) {
  std::map<std::string, std::string, std::less<>> values;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (line.empty() || line.front() == '#') continue;
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos) {
      return bad_file(fmt::format("'{}' is not of the form key=value", line));
    }
    values[std::string(line.substr(0, equals))] = line.substr(equals + 1);
  }
  return values;
}

/// Makes `directory` with everything above it, names durable: a power cut must not take away a
/// directory whose files were synced.
Result<void> make_durable(env::FileSystem& files, const std::string& directory) {
  std::vector<std::string> parents;  // of what does not exist yet, innermost first
  std::string at = directory;
  while (!at.empty() && !files.exists(at)) {
    const std::size_t slash = at.rfind('/');
    std::string parent = slash == std::string::npos ? "." : slash == 0 ? "/" : at.substr(0, slash);
    if (parent == at) break;
    at = parent;
    parents.push_back(std::move(parent));
  }
  KM_TRY_VOID(files.make_directories(directory));
  for (const std::string& parent : parents) KM_TRY_VOID(files.sync_directory(parent));
  return {};
}

/// The file of one directory; nothing if there is none.
Result<std::optional<MetaProperties>> read(env::FileSystem& files, const std::string& directory) {
  const std::string path = path_in(directory);
  if (!files.exists(path)) return std::optional<MetaProperties>();
  KM_TRY(text, files.read_text(path, kMaxBytes));
  Result<MetaProperties> properties = MetaProperties::parse(text);
  if (!properties) {
    return bad_file(
        fmt::format("{}: {}; restore the file from a backup", path, properties.error().message));
  }
  return std::optional<MetaProperties>(std::move(*properties));
}

Result<void> check_node(const std::string& directory, const MetaProperties& properties,
                        NodeId node_id) {
  if (properties.node_id == node_id) return {};
  return bad_file(fmt::format(
      "log directory {} belongs to node {}, this is node {}: correct log.dirs or node.id",
      directory, properties.node_id, node_id));
}

Result<void> check_cluster(const std::string& directory, const MetaProperties& properties,
                           const std::string& cluster_id, const std::string& whose) {
  if (properties.cluster_id == cluster_id) return {};
  return bad_file(fmt::format(
      "log directory {} belongs to cluster {}, {} is {}: correct log.dirs or cluster.id", directory,
      properties.cluster_id, whose, cluster_id));
}

Result<MetaProperties> create(env::Environment& environment, const std::string& directory,
                              NodeId node_id, const std::string& cluster_id) {
  // A metadata log without its owner's name: a lost file, not a first start. A new cluster id here
  // would cut every mirror off from its failback positions.
  if (environment.files.exists(directory + "/__cluster_metadata-0")) {
    return bad_file(
        fmt::format("{} is missing although there is a metadata log beside it; restore "
                    "the file from a backup",
                    path_in(directory)));
  }
  MetaProperties properties;
  properties.cluster_id = cluster_id;
  properties.node_id = node_id;
  properties.directory_id = environment.rng.uuid();
  KM_TRY_VOID(
      environment.files.write_text_atomically(path_in(directory), properties.text(), false));
  return properties;
}

}  // namespace

std::string MetaProperties::text() const {
  return fmt::format("#\nversion=1\ncluster.id={}\nnode.id={}\ndirectory.id={}\n", cluster_id,
                     node_id, directory_id);
}

Result<MetaProperties> MetaProperties::parse(std::string_view text) {
  KM_TRY(values, parse_lines(text));
  const auto value = [&values = values](std::string_view key) {
    const auto found = values.find(key);
    return found == values.end() ? std::string() : found->second;
  };
  if (value("version") != "1") {
    return bad_file(fmt::format("version is '{}'; kmirror reads version 1", value("version")));
  }
  MetaProperties properties;
  properties.cluster_id = value("cluster.id");
  if (properties.cluster_id.empty()) return bad_file("cluster.id is missing");
  const std::optional<std::int64_t> node = parse_integer(value("node.id"));
  if (!node || *node < 0 || *node > 2'147'483'647) {
    return bad_file(fmt::format("node.id '{}' is no number of a node", value("node.id")));
  }
  properties.node_id = NodeId(static_cast<std::int32_t>(*node));
  const std::optional<Uuid> directory = Uuid::parse(value("directory.id"));
  if (!directory) {
    return bad_file(fmt::format("directory.id '{}' is no id", value("directory.id")));
  }
  properties.directory_id = *directory;
  return properties;
}

Result<LogDirectories> prepare_log_directories(
    env::Environment& environment, const std::vector<std::string>& directories, NodeId node_id,
    const std::optional<std::string>& wanted_cluster_id) {
  std::vector<std::optional<MetaProperties>> found;
  LogDirectories result;
  std::string whose;
  if (wanted_cluster_id) {
    result.cluster_id = *wanted_cluster_id;
    whose = "cluster.id of the configuration";
  }
  for (const std::string& directory : directories) {
    KM_TRY_VOID(make_durable(environment.files, directory));
    KM_TRY(properties, read(environment.files, directory));
    if (properties) {
      KM_TRY_VOID(check_node(directory, *properties, node_id));
      if (result.cluster_id.empty()) {
        result.cluster_id = properties->cluster_id;
        whose = fmt::format("that of {}", directory);
      }
      KM_TRY_VOID(check_cluster(directory, *properties, result.cluster_id, whose));
    }
    found.push_back(std::move(properties));
  }
  if (result.cluster_id.empty()) result.cluster_id = environment.rng.uuid().text();
  for (std::size_t i = 0; i < directories.size(); ++i) {
    if (!found[i]) {
      KM_TRY(made, create(environment, directories[i], node_id, result.cluster_id));
      found[i] = std::move(made);
    }
    for (std::size_t j = 0; j < i; ++j) {
      if (found[j]->directory_id != found[i]->directory_id) continue;
      return bad_file(
          fmt::format("log directories {} and {} have the same directory.id: one is a "
                      "copy of the other; take it out of log.dirs",
                      directories[j], directories[i]));
    }
    result.directory_ids.push_back(found[i]->directory_id);
  }
  return result;
}

}  // namespace kmirror::metadata
