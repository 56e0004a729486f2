// Bootstrap, choice of a broker, and the calls on it.
// Owner: one task.
#include "kmirror/client/admin.h"

#include <algorithm>
#include <charconv>

#include "kmirror/env/errors.h"

namespace kmirror::client {
namespace {

constexpr NodeId kBootstrap{-1};

Error bad_entry(std::string_view entry, const char* why) {
  return kafka_error(ErrorCode::INVALID_CONFIG,
                     fmt::format("bootstrap server '{}': {}; write host:port", entry, why));
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

Result<env::Endpoint> parse_entry(std::string_view entry) {
  const std::size_t colon = entry.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return bad_entry(entry, "no port");
  std::string_view host = entry.substr(0, colon);
  const std::string_view digits = entry.substr(colon + 1);
  unsigned port = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (error != std::errc() || end != digits.data() + digits.size() || port == 0 || port > 65'535) {
    return bad_entry(entry, "the port is not a number from 1 to 65535");
  }
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) host = host.substr(1, host.size() - 2);
  if (!bracketed && host.find(':') != std::string_view::npos) {
    return bad_entry(entry, "an IPv6 host goes in brackets");
  }
  return env::Endpoint(std::string(host), static_cast<std::uint16_t>(port));
}

}  // namespace

Result<std::vector<env::Endpoint>> parse_bootstrap(std::string_view text) {
  std::vector<env::Endpoint> endpoints;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string_view entry = trim(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
    if (entry.empty()) continue;
    KM_TRY(endpoint, parse_entry(entry));
    endpoints.push_back(std::move(endpoint));
  }
  if (endpoints.empty()) {
    return kafka_error(ErrorCode::INVALID_CONFIG, "bootstrap.servers is empty; write host:port");
  }
  return endpoints;
}

AdminClient::AdminClient(env::Environment& environment, env::Loop& loop, AdminOptions options)
    : environment_(environment), loop_(loop), options_(std::move(options)) {}

AdminClient::~AdminClient() = default;

void AdminClient::close() { connections_.clear(); }

bool AdminClient::is_closed_by_peer(const Error& error) {
  return is_connection_error(error) && !env::is_timed_out(error) && !env::is_aborted(error);
}

env::Awaitable<Result<Connection*>> AdminClient::open_kept(env::Endpoint at, NodeId node) {
  ConnectionOptions options = options_.connection;
  KM_CO_TRY(opened, co_await Connection::open(environment_, loop_, at, std::move(options)));
  std::unique_ptr<Connection>& kept = connections_[node];
  kept = std::move(opened);
  co_return kept.get();
}

env::Awaitable<Result<Connection*>> AdminClient::any() {
  for (auto& [node, connection] : connections_) {
    if (connection->is_open()) co_return connection.get();
  }
  std::vector<env::Endpoint> candidates = options_.bootstrap;
  for (const auto& [node, endpoint] : brokers_) {
    if (std::find(candidates.begin(), candidates.end(), endpoint) == candidates.end()) {
      candidates.push_back(endpoint);
    }
  }
  std::string why;
  for (const env::Endpoint& candidate : candidates) {
    Result<Connection*> opened = co_await open_kept(candidate, kBootstrap);
    if (opened) co_return *opened;
    // A refused login is the same everywhere, and is not "no broker".
    if (is_authorization_error(opened.error())) co_return opened.error();
    const bool cancelled = co_await env::task_cancelled();
    if (cancelled) co_return opened.error();
    why += (why.empty() ? "" : "; ") + opened.error().message;
  }
  co_return client_error(ClientErrc::kNoBroker, "no broker answers: " + why);
}

env::Awaitable<Result<Connection*>> AdminClient::broker(NodeId node) {
  const auto open = connections_.find(node);
  if (open != connections_.end() && open->second->is_open()) co_return open->second.get();
  if (!brokers_.contains(node)) {
    KM_CO_TRY(ignored, co_await cluster());
    static_cast<void>(ignored);
  }
  const auto known = brokers_.find(node);
  if (known == brokers_.end()) {
    co_return kafka_error(ErrorCode::BROKER_NOT_AVAILABLE,
                          fmt::format("the cluster has no broker {}", node));
  }
  const env::Endpoint at = known->second;
  Result<Connection*> opened = co_await open_kept(at, node);
  co_return opened;
}

env::Awaitable<Result<Connection*>> AdminClient::controller() {
  KM_CO_TRY_VOID(co_await learn_cluster());
  Result<Connection*> reached = co_await reach(Target(controller_));
  co_return reached;
}

env::Awaitable<Result<Connection*>> AdminClient::reach(Target target) {
  if (target.node < NodeId{0}) {
    Result<Connection*> connection = co_await any();
    co_return connection;
  }
  Result<Connection*> connection = co_await broker(target.node);
  co_return connection;
}

env::Awaitable<Result<void>> AdminClient::learn_cluster() {
  KM_CO_TRY(ignored, co_await cluster());
  static_cast<void>(ignored);
  co_return Result<void>();
}

env::Awaitable<Result<wire::MetadataResponse>> AdminClient::cluster() {
  auto answer = co_await metadata(std::vector<std::string>());
  co_return answer;
}

env::Awaitable<Result<wire::MetadataResponse>> AdminClient::metadata(
    std::optional<std::vector<std::string>> topics) {
  wire::MetadataRequest request;
  request.allow_auto_topic_creation = false;
  request.topics.reset();
  if (topics) {
    request.topics.emplace();
    for (std::string& name : *topics) {
      wire::MetadataRequest::MetadataRequestTopic topic;
      topic.name = std::move(name);
      request.topics->push_back(std::move(topic));
    }
  }
  Result<wire::MetadataResponse> answer = co_await call(std::move(request));
  if (answer && answer->error_code != ErrorCode::NONE) {
    co_return kafka_error(answer->error_code, fmt::format("Metadata: {}", answer->error_code));
  }
  if (answer) learn(*answer);
  co_return answer;
}

void AdminClient::learn(const wire::MetadataResponse& answer) {
  if (answer.brokers.empty()) return;
  brokers_.clear();
  for (const auto& broker : answer.brokers) {
    if (broker.port <= 0 || broker.port > 65'535) continue;
    brokers_[broker.node_id] = env::Endpoint(broker.host, static_cast<std::uint16_t>(broker.port));
  }
  controller_ = answer.controller_id;
}

}  // namespace kmirror::client
