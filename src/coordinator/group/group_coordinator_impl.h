// The inside of GroupCoordinator. Owner: any thread; see the public header.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "coordinator/group/group_shard.h"
#include "coordinator/runtime/coordinator_runtime.h"
#include "kmirror/coordinator/group_coordinator.h"

namespace kmirror::coordinator {

class GroupCoordinator::Impl final : public metadata::MetadataListener,
                                     public std::enable_shared_from_this<Impl> {
 public:
  Impl(env::Environment& environment, storage::LogManager& logs, metadata::MetadataEngine& engine,
       GroupCoordinatorConfig settings);

  using Operation = UniqueFunction<void(GroupShard&)>;
  using Refuse = UniqueFunction<void(ErrorCode)>;
  /// Makes the topic if need be, then runs `operation` on the shard of `group_id`, on its loop.
  void with_group(const std::string& group_id, Operation operation, Refuse refuse);
  /// Runs `operation` on the shard of one partition; the topic must be there.
  void with_partition(std::int32_t partition, Operation operation, Refuse refuse);
  [[nodiscard]] std::int32_t partition_for(std::string_view group_id) const;
  [[nodiscard]] std::shared_ptr<const metadata::MetadataImage> image() const {
    return engine_.image();
  }

  void start();
  void on_metadata(const metadata::MetadataDelta& delta) override;

  const GroupCoordinatorConfig config;
  const std::shared_ptr<CoordinatorRuntime> runtime;

 private:
  metadata::MetadataEngine& engine_;
};

/// Carries the answer to the loop that `context` names.
template <class Response>
[[nodiscard]] UniqueFunction<void(Response)> reply_to(env::Loop& loop,
                                                      UniqueFunction<void(Response)> done) {
  return [&loop, done = std::move(done)](Response response) mutable {
    loop.post([done = std::move(done), response = std::move(response)]() mutable {
      done(std::move(response));
    });
  };
}

/// `done`, callable from two places of which one will be taken.
template <class Response>
using SharedReply = std::shared_ptr<UniqueFunction<void(Response)>>;
template <class Response>
[[nodiscard]] SharedReply<Response> share(UniqueFunction<void(Response)> done) {
  return std::make_shared<UniqueFunction<void(Response)>>(std::move(done));
}

/// True if `group_id` fits into the key of a record.
[[nodiscard]] inline bool fits_in_record(std::string_view group_id) {
  return group_id.size() <= 32'767;
}

}  // namespace kmirror::coordinator
