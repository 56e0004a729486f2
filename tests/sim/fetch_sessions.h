// FetchSessions: the incremental fetch sessions of the fake source (KIP-227).
// Owner: the loop of the fake source. Invariant: a session belongs to one node and knows, for each
// of its partitions, what the client was told last.
// Sources: KIP-227; Kafka 4.4 FetchSession, FetchManager.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kmirror/model/types.h"
#include "kmirror/wire/fetch_request.h"
#include "kmirror/wire/fetch_response.h"
#include "sim/sim_api.h"

namespace kmirror::testing {

struct SimPartition;

/// One partition's part of a fetch answer, before it is decided whether it is sent.
struct FetchReading {
  FetchReading() = default;
  std::string topic;
  Uuid topic_id;
  const SimPartition* partition = nullptr;  ///< null: unknown
  wire::FetchResponse::PartitionData data;
};

class FetchSessions {
 public:
  struct Key {
    Key() = default;
    std::string topic;  ///< empty from version 13 on
    Uuid topic_id;
    std::int32_t partition = 0;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  struct Wanted {
    Wanted() = default;
    Key key;
    wire::FetchRequest::FetchPartition request;
  };
  /// What to read for one request, and what to do with the answer.
  struct Plan {
    Plan() = default;
    ErrorCode error = ErrorCode::NONE;
    std::int32_t session_id = 0;
    bool is_incremental = false;
    std::vector<Wanted> wanted;
  };

  /// Opens, continues or closes a session as the request says.
  [[nodiscard]] Plan plan(const Call& call, const wire::FetchRequest& request);
  /// True if the answer must name this partition: always in a full answer, else only for news.
  [[nodiscard]] bool must_send(const Plan& plan, const FetchReading& reading) const;
  /// Remembers what the client is told now. Partitions that brought records go last next time.
  void told(const Plan& plan, const std::vector<FetchReading>& sent);

  /// New sessions are refused (cache full) while false: answers are full and name session 0.
  bool grants_sessions = true;
  /// Forgets all sessions, or those of one node: the next incremental request gets error 70.
  void drop_all() { sessions_.clear(); }
  void drop_of(NodeId node);
  [[nodiscard]] std::size_t count() const { return sessions_.size(); }

 private:
  struct Told {
    Told() = default;
    Wanted wanted;
    std::optional<Offset> high_watermark;
    std::optional<Offset> log_start;
  };
  struct Session {
    Session() = default;
    NodeId node;
    std::int32_t next_epoch = 1;
    std::vector<Told> partitions;  // in the order in which they are read
  };

  static Key key_of(const FetchReading& reading, bool by_id);
  static std::vector<Wanted> all_of(const Call& call, const wire::FetchRequest& request);
  static void update(Session& session, const Call& call, const wire::FetchRequest& request);

  std::map<std::int32_t, Session> sessions_;
  std::int32_t next_id_ = 1'000;
};

}  // namespace kmirror::testing
