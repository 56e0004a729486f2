// From keys to types.
// Owner: any thread.
#include "mirror/mirror_settings.h"

#include <algorithm>
#include <limits>

namespace kmirror::mirror {
namespace {

constexpr std::int64_t kStandardReceiveBuffer = 65'536;

class Keys {
 public:
  Keys(const metadata::ConfigResolver& configs, const metadata::MetadataImage& image,
       const std::string& mirror)
      : configs_(configs), image_(image), mirror_(mirror) {}

  [[nodiscard]] std::string text(std::string_view key) const {
    return configs_.mirror_value(image_, mirror_, key).value_or("");
  }
  [[nodiscard]] std::int32_t number(std::string_view key) const {
    const std::int64_t value = configs_.mirror_integer(image_, mirror_, key);
    return static_cast<std::int32_t>(
        std::clamp<std::int64_t>(value, -1, std::numeric_limits<std::int32_t>::max()));
  }
  [[nodiscard]] std::chrono::milliseconds duration(std::string_view key) const {
    return std::chrono::milliseconds(configs_.mirror_integer(image_, mirror_, key));
  }
  /// Socket buffers: the standard value leaves them to the system, whose own sizing is faster.
  [[nodiscard]] int buffer(std::string_view key) const {
    const std::int32_t value = number(key);
    return value == kStandardReceiveBuffer ? -1 : value;
  }

 private:
  const metadata::ConfigResolver& configs_;
  const metadata::MetadataImage& image_;
  const std::string& mirror_;
};

FetcherOptions fetcher_options(const Keys& keys) {
  FetcherOptions options;
  options.fetch_wait_max = keys.duration("replica.fetch.wait.max.ms");
  options.fetch_backoff = keys.duration("replica.fetch.backoff.ms");
  options.answer_timeout = keys.duration("replica.socket.timeout.ms");
  options.fetch_min_bytes = keys.number("replica.fetch.min.bytes");
  options.response_max_bytes = keys.number("replica.fetch.response.max.bytes");
  options.partition_max_bytes = keys.number("replica.fetch.max.bytes");
  options.unreachable_grace = keys.duration("request.timeout.ms");
  options.connection.connect_timeout = keys.duration("socket.connection.setup.timeout.ms");
  options.connection.request_timeout = keys.duration("request.timeout.ms");
  options.connection.socket.receive_buffer_bytes =
      keys.buffer("replica.socket.receive.buffer.bytes");
  return options;
}

}  // namespace

Result<MirrorSettings> read_settings(const metadata::ConfigResolver& configs,
                                     const metadata::MetadataImage& image,
                                     const std::string& mirror) {
  const Keys keys(configs, image, mirror);
  MirrorSettings settings;
  settings.bootstrap = keys.text("bootstrap.servers");
  KM_TRY(endpoints, client::parse_bootstrap(settings.bootstrap));
  settings.endpoints = std::move(endpoints);
  settings.source_cluster_id = keys.text("source.cluster.id");
  settings.include = keys.text("mirror.topics.include");
  KM_TRY(filter,
         metadata::TopicFilter::parse(settings.include, keys.text("mirror.topics.exclude")));
  settings.filter = std::move(filter);
  settings.fail_at_gap = keys.text("mirror.gap.policy") == "fail";
  settings.fetcher = fetcher_options(keys);
  settings.connection = settings.fetcher.connection;
  settings.connection.socket.receive_buffer_bytes = keys.buffer("receive.buffer.bytes");
  settings.connection.client_id = fmt::format("kmirror-{}-{}-admin", configs.node_id(), mirror);
  const FetcherOptions& f = settings.fetcher;
  settings.connection_fingerprint =
      fmt::format("{} {} {} {} {} {} {} {} {} {}", settings.bootstrap, f.fetch_wait_max.count(),
                  f.fetch_backoff.count(), f.answer_timeout.count(), f.fetch_min_bytes,
                  f.response_max_bytes, f.partition_max_bytes, f.unreachable_grace.count(),
                  f.connection.connect_timeout.count(), f.connection.socket.receive_buffer_bytes);
  return settings;
}

Result<std::vector<env::Endpoint>> bootstrap_of(const metadata::ConfigMap& overrides) {
  const auto found = overrides.find("bootstrap.servers");
  return client::parse_bootstrap(found == overrides.end() ? std::string_view() : found->second);
}

}  // namespace kmirror::mirror
