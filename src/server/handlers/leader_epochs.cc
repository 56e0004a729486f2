#include "server/handlers/leader_epochs.h"

namespace kmirror::server {

storage::EpochAndEndOffset end_offset_for_epoch(const storage::PartitionLog& log,
                                                LeaderEpoch leader_epoch, LeaderEpoch epoch) {
  const LeaderEpoch latest = log.latest_epoch();
  if (epoch < LeaderEpoch(0) || epoch <= latest || epoch > leader_epoch) {
    return log.end_offset_for_epoch(epoch);
  }
  const Offset end = log.log_end_offset();
  // Epochs above the last batch's: the leader's own starts at the end, those before it had no
  // batch.
  if (epoch == leader_epoch || latest == kNoLeaderEpoch) return {epoch, end};
  return {latest, end};
}

LeaderEpoch epoch_at(const storage::PartitionLog& log, LeaderEpoch leader_epoch, Offset offset) {
  if (offset >= log.log_end_offset()) return leader_epoch;
  return log.epoch_for_offset(offset).value_or(kNoLeaderEpoch);
}

}  // namespace kmirror::server
