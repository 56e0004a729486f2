// Sources: spec H, C.2.
#include "cli/mirrors_command.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <re2/re2.h>

#include "kmirror/cli/tables.h"
#include "kmirror/wire/create_cluster_mirror_request.h"
#include "kmirror/wire/create_cluster_mirror_response.h"
#include "kmirror/wire/delete_cluster_mirror_request.h"
#include "kmirror/wire/delete_cluster_mirror_response.h"
#include "kmirror/wire/describe_cluster_mirrors_request.h"
#include "kmirror/wire/describe_cluster_mirrors_response.h"
#include "kmirror/wire/list_cluster_mirrors_request.h"
#include "kmirror/wire/list_cluster_mirrors_response.h"
#include "kmirror/wire/pause_mirror_topics_request.h"
#include "kmirror/wire/pause_mirror_topics_response.h"
#include "kmirror/wire/recover_mirror_topics_request.h"
#include "kmirror/wire/recover_mirror_topics_response.h"
#include "kmirror/wire/resume_mirror_topics_request.h"
#include "kmirror/wire/resume_mirror_topics_response.h"
#include "kmirror/wire/start_mirror_topics_request.h"
#include "kmirror/wire/start_mirror_topics_response.h"
#include "kmirror/wire/stop_mirror_topics_request.h"
#include "kmirror/wire/stop_mirror_topics_response.h"

namespace kmirror::cli {
namespace {

constexpr std::int32_t kDefaultMaxAttempts = 20;

// A topic's name holds only these; anything else must be an expression. A dot is both: it is taken
// as a name, which an expression of the same text matches anyway.
bool is_literal(std::string_view entry) {
  return std::all_of(entry.begin(), entry.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  });
}

Error refused(ErrorCode code, const std::optional<std::string>& message) {
  return kafka_error(code, message && !message->empty() ? fmt::format("{} ({})", *message, code)
                                                        : std::string(name(code)));
}

template <class Response>
Result<void> check_top(const Response& response) {
  if (response.error_code == ErrorCode::NONE) return {};
  return refused(response.error_code, response.error_message);
}

// Names of the topics that were accepted; prints the others with their reasons.
template <class Response>
std::vector<std::string> accepted_topics(const Response& response, bool& any_refused) {
  std::vector<std::string> out;
  for (const auto& topic : response.topics) {
    if (topic.error_code == ErrorCode::NONE) {
      out.push_back(topic.topic_name);
    } else {
      any_refused = true;
      print_error(fmt::format("Error: topic {}: {}", topic.topic_name,
                              refused(topic.error_code, topic.error_message).message));
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

env::Awaitable<Result<wire::DescribeClusterMirrorsResponse>> describe(client::AdminClient& admin,
                                                                      std::string mirror) {
  wire::DescribeClusterMirrorsRequest request;
  if (!mirror.empty()) request.mirror_names = std::vector<std::string>{mirror};
  KM_CO_TRY(response, co_await admin.call(std::move(request)));
  if (auto top = check_top(response); !top) co_return std::move(top).error();
  for (const auto& described : response.mirrors) {
    if (described.error_code != ErrorCode::NONE) {
      co_return refused(described.error_code, described.error_message);
    }
  }
  co_return response;
}

// The mirror's topics that an entry names or matches, whole names. A literal name that the mirror
// does not have is kept, so that the cluster says what is wrong with it.
env::Awaitable<Result<std::vector<std::string>>> resolve(client::AdminClient& admin,
                                                         const MirrorsOptions& options) {
  std::set<std::string> out;
  std::vector<std::string> expressions;
  for (const std::string& entry : options.topics) {
    if (is_literal(entry)) {
      out.insert(entry);
    } else {
      expressions.push_back(entry);
    }
  }
  if (!expressions.empty()) {
    KM_CO_TRY(described, co_await describe(admin, options.mirror));
    for (const std::string& expression : expressions) {
      const re2::RE2 pattern(expression, re2::RE2::Quiet);
      if (!pattern.ok()) {
        co_return usage_error(
            fmt::format("'{}' is no regular expression: {}", expression, pattern.error()));
      }
      for (const auto& mirror : described.mirrors) {
        for (const auto& topic : mirror.topics) {
          if (re2::RE2::FullMatch(topic.topic_name, pattern)) out.insert(topic.topic_name);
        }
      }
    }
  }
  co_return std::vector<std::string>(out.begin(), out.end());
}

env::Awaitable<Result<int>> create(env::Environment& environment, client::AdminClient& admin,
                                   const MirrorsOptions& options) {
  KM_CO_TRY(properties, read_properties(environment, options.mirror_config));
  wire::CreateClusterMirrorRequest request;
  request.mirror_name = options.mirror;
  for (const auto& [key, value] : properties) {
    wire::CreateClusterMirrorRequest::MirrorConfig config;
    config.name = key;
    config.value = value;
    request.configs.push_back(std::move(config));
  }
  KM_CO_TRY(response, co_await admin.call(std::move(request)));
  KM_CO_TRY_VOID(check_top(response));
  print(fmt::format("Created mirror {}\n", options.mirror));
  co_return kExitOk;
}

env::Awaitable<Result<int>> start(client::AdminClient& admin, const MirrorsOptions& options) {
  wire::StartMirrorTopicsRequest request;
  request.mirror_name = options.mirror;
  request.exclude_patterns = options.exclude;
  for (const std::string& entry : options.topics) {
    if (!is_literal(entry)) {
      request.include_patterns.push_back(entry);
      continue;
    }
    wire::StartMirrorTopicsRequest::TopicData topic;
    topic.topic_name = entry;
    request.topics.push_back(std::move(topic));
  }
  KM_CO_TRY(response, co_await admin.call(std::move(request)));
  bool any_refused = false;
  const std::vector<std::string> started = accepted_topics(response, any_refused);
  if (!any_refused) {
    if (auto top = check_top(response); !top) co_return std::move(top).error();
  }
  if (started.empty() && !any_refused) {
    print(fmt::format("No matching topics at the source yet; the patterns are saved in mirror {}\n",
                      options.mirror));
  } else if (!started.empty()) {
    print(fmt::format("Started {} topic(s) in mirror {}: {}\n", started.size(), options.mirror,
                      java_list(started)));
  }
  co_return any_refused ? kExitFailed : kExitOk;
}

env::Awaitable<Result<int>> stop(client::AdminClient& admin, const MirrorsOptions& options) {
  KM_CO_TRY(topics, co_await resolve(admin, options));
  wire::StopMirrorTopicsRequest request;
  request.mirror_name = options.mirror;
  for (const std::string& topic_name : topics) {
    wire::StopMirrorTopicsRequest::TopicData topic;
    topic.topic_name = topic_name;
    request.topics.push_back(std::move(topic));
  }
  // A pattern is remembered in mirror.topics.exclude. "All topics" is not: it would keep every
  // topic out of a later start.
  if (!options.all_topics) {
    for (const std::string& entry : options.topics) {
      if (!is_literal(entry)) request.patterns.push_back(entry);
    }
  }
  KM_CO_TRY(response, co_await admin.call(std::move(request)));
  bool any_refused = false;
  const std::vector<std::string> stopped = accepted_topics(response, any_refused);
  if (!any_refused) KM_CO_TRY_VOID(check_top(response));
  print(fmt::format("Stopped {} topic(s) in mirror {}\n", java_list(stopped), options.mirror));
  co_return any_refused ? kExitFailed : kExitOk;
}

// Pause, resume and recover differ in the request and the word only.
template <class Request>
env::Awaitable<Result<int>> change(client::AdminClient& admin, const MirrorsOptions& options,
                                   const char* word) {
  KM_CO_TRY(topics, co_await resolve(admin, options));
  Request request;
  request.mirror_name = options.mirror;
  for (const std::string& topic_name : topics) {
    typename Request::TopicData topic;
    topic.topic_name = topic_name;
    request.topics.push_back(std::move(topic));
  }
  KM_CO_TRY(response, co_await admin.call(std::move(request)));
  bool any_refused = false;
  const std::vector<std::string> changed = accepted_topics(response, any_refused);
  if (!any_refused) KM_CO_TRY_VOID(check_top(response));
  print(fmt::format("{} {} topic(s) in mirror {}: {}\n", word, changed.size(), options.mirror,
                    java_list(changed)));
  co_return any_refused ? kExitFailed : kExitOk;
}

env::Awaitable<Result<int>> remove(client::AdminClient& admin, const MirrorsOptions& options) {
  wire::DeleteClusterMirrorRequest request;
  request.mirror_name = options.mirror;
  KM_CO_TRY(response, co_await admin.call(std::move(request)));
  KM_CO_TRY_VOID(check_top(response));
  print(fmt::format("Deleted mirror {}\n", options.mirror));
  co_return kExitOk;
}

env::Awaitable<Result<int>> list(client::AdminClient& admin) {
  wire::ListClusterMirrorsRequest request;
  KM_CO_TRY(response, co_await admin.call(std::move(request)));
  KM_CO_TRY_VOID(check_top(response));
  std::vector<MirrorRow> rows;
  for (const auto& mirror : response.mirrors) {
    MirrorRow row;
    row.mirror = mirror.mirror_name;
    row.topic_count = mirror.topic_count;
    row.source_cluster_id = mirror.source_cluster_id;
    row.source_bootstrap = mirror.source_bootstrap;
    rows.push_back(std::move(row));
  }
  print(rows.empty() ? "No mirrors found\n" : list_table(std::move(rows)));
  co_return kExitOk;
}

std::vector<PartitionRow> partition_rows(const wire::DescribeClusterMirrorsResponse& described) {
  std::vector<PartitionRow> rows;
  for (const auto& mirror : described.mirrors) {
    for (const auto& topic : mirror.topics) {
      for (const auto& partition : topic.partitions) {
        PartitionRow row;
        row.mirror = mirror.mirror_name;
        row.topic = topic.topic_name;
        row.partition = partition.partition_index;
        row.source_offset = partition.source_offset.get();
        row.destination_offset = partition.destination_offset.get();
        row.state = partition.state_value;
        row.retry_attempt = partition.retry_attempt;
        row.error = partition.error_message;
        rows.push_back(std::move(row));
      }
    }
  }
  return rows;
}

env::Awaitable<Result<int>> show(client::AdminClient& admin, const MirrorsOptions& options) {
  KM_CO_TRY(described, co_await describe(admin, options.mirror));
  std::vector<PartitionRow> rows = partition_rows(described);
  if (options.failed)
    std::erase_if(rows, [](const PartitionRow& r) { return r.state != "FAILED"; });
  if (options.json) {
    print(describe_json(std::move(rows)) + "\n");
  } else if (rows.empty()) {
    print(options.failed ? "No failed partitions found\n" : "No mirror partitions found\n");
  } else if (options.failed) {
    print(failed_table(std::move(rows), kDefaultMaxAttempts));
  } else {
    print(describe_table(std::move(rows)));
  }
  co_return kExitOk;
}

env::Awaitable<Result<int>> dispatch(env::Environment& environment, client::AdminClient& admin,
                                     const MirrorsOptions& options) {
  switch (options.action) {
    case MirrorsAction::kCreate:
      co_return co_await create(environment, admin, options);
    case MirrorsAction::kStart:
      co_return co_await start(admin, options);
    case MirrorsAction::kStop:
      co_return co_await stop(admin, options);
    case MirrorsAction::kPause:
      co_return co_await change<wire::PauseMirrorTopicsRequest>(admin, options, "Paused");
    case MirrorsAction::kResume:
      co_return co_await change<wire::ResumeMirrorTopicsRequest>(admin, options, "Resumed");
    case MirrorsAction::kRecover:
      co_return co_await change<wire::RecoverMirrorTopicsRequest>(admin, options, "Recovered");
    case MirrorsAction::kDelete:
      co_return co_await remove(admin, options);
    case MirrorsAction::kList:
      co_return co_await list(admin);
    case MirrorsAction::kDescribe:
      co_return co_await show(admin, options);
    case MirrorsAction::kHelp:
      break;
  }
  print(mirrors_help());
  co_return kExitOk;
}

}  // namespace

env::Awaitable<int> run_mirrors(env::Environment& environment, MirrorsOptions options) {
  auto admin = make_admin(environment, options.bootstrap_server, options.command_config);
  if (!admin) co_return fail(admin.error());
  auto result = co_await dispatch(environment, **admin, options);
  if (!result) co_return fail(result.error());
  co_return *result;
}

}  // namespace kmirror::cli
