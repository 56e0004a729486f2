// The configuration file's text as keys and values, and --override on top of it.
#include "kmirror/base/properties.h"
#include "kmirror/app/config.h"
#include "kmirror/metadata/config_def.h"
#include "kmirror/model/error_code.h"

namespace kmirror::app {

Result<metadata::ConfigMap> parse_properties(std::string_view text) {
  auto parsed = kmirror::parse_properties(text);
  if (!parsed) return kafka_error(ErrorCode::INVALID_CONFIG, parsed.error().message);
  metadata::ConfigMap values;
  for (Property& property : *parsed) {
    values.insert_or_assign(std::move(property.key), std::move(property.value));
  }
  return values;
}

Result<void> apply_override(metadata::ConfigMap& values, std::string_view override_) {
  const std::size_t equals = override_.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    return kafka_error(ErrorCode::INVALID_CONFIG,
                       fmt::format("--override '{}' is not of the form key=value", override_));
  }
  const metadata::ConfigTable& table = metadata::broker_configs();
  const std::string key(override_.substr(0, equals));
  const std::string name = table.canonical(key);
  std::erase_if(values, [&](const auto& entry) { return table.canonical(entry.first) == name; });
  values.insert_or_assign(key, std::string(override_.substr(equals + 1)));
  return {};
}

}  // namespace kmirror::app
