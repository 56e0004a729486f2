// The text of config/server.properties, made from the table of broker keys.
#include <algorithm>

#include "kmirror/app/config.h"
#include "kmirror/metadata/config_def.h"

namespace kmirror::app {
namespace {

constexpr std::size_t kColumns = 98;

/// Comment lines of at most kColumns characters; breaks at blanks.
void comment(std::string& to, std::string_view text) {
  while (!text.empty()) {
    std::size_t end = std::min(text.size(), kColumns);
    if (end < text.size()) {
      const std::size_t blank = text.rfind(' ', end);
      if (blank != std::string_view::npos && blank > 0) end = blank;
    }
    to += "# ";
    to += text.substr(0, end);
    to += '\n';
    text.remove_prefix(end);
    while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  }
}

std::string facts(const metadata::ConfigDef& def) {
  std::string text = def.unit.empty() ? "" : fmt::format("Unit: {}. ", def.unit);
  if (!def.default_value) {
    text += "Default: not set. ";
  } else if (def.default_value->empty()) {
    text += "Default: empty. ";
  } else {
    text += fmt::format("Default: {}. ", *def.default_value);
  }
  text += fmt::format("Allowed: {}.", def.allowed());
  if (def.update == metadata::ConfigUpdate::kPerBroker ||
      def.update == metadata::ConfigUpdate::kClusterWide) {
    text += " Can be changed while running.";
  }
  if (def.listener_prefix) text += " Also as listener.name.<listener>.<key>.";
  for (const std::string& alias : def.aliases) text += fmt::format(" Also spelled {}.", alias);
  return text;
}

/// The value that a first start needs, for the keys that are not commented out.
std::optional<std::string> first_value(std::string_view key) {
  if (key == "node.id") return "1";
  if (key == "log.dirs") return "/var/lib/kmirror";
  if (key == "listeners") return "PLAINTEXT://:9092";
  return std::nullopt;
}

}  // namespace

std::string render_server_properties() {
  std::string text =
      "# Configuration of kmirrord. Every key that it knows stands here with its meaning, unit,\n"
      "# default and what is allowed; a key behind a '#' is not set. The form is that of Java\n"
      "# properties. Kafka's names mean what they mean in Kafka. An unknown key is an error.\n"
      "# `kmirrord FILE --check` checks a file, `--override key=value` changes one key.\n";
  std::string section;
  for (const metadata::ConfigDef& def : metadata::broker_configs().all()) {
    if (def.hidden) continue;
    if (def.section != section) {
      section = def.section;
      text += fmt::format("\n######## {} ########\n", section);
    }
    text += '\n';
    comment(text, def.doc);
    comment(text, facts(def));
    const std::optional<std::string> value = first_value(def.name);
    if (value) {
      text += fmt::format("{}={}\n", def.name, *value);
    } else if (def.update != metadata::ConfigUpdate::kDynamicOnly) {
      text += fmt::format("#{}={}\n", def.name, def.default_value.value_or(""));
    }
  }
  return text;
}

}  // namespace kmirror::app
