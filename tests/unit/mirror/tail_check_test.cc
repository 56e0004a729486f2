// The last batch of our log against the source's batch at that offset (decisions 3.10).
#include "mirror/tail_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kmirror/bytes/crc32c.h"
#include "kmirror/model/batch_header.h"
#include "unit/mirror/batches.h"

namespace kmirror::mirror {
namespace {

Bytes with_right_crc(Bytes bytes) {
  store_be<std::uint32_t>(bytes.data() + batch_at::kCrc,
                          crc32c(ByteSpan(bytes).subspan(batch_at::kAttributes)));
  return bytes;
}

TailVerdict verdict(const Bytes& ours, const Bytes& theirs) {
  return compare_tail(ours, theirs).verdict;
}

TEST(TailCheck, TheSameBatchIsTheSame) {
  const Bytes ours = batch(40, 44, 3);
  EXPECT_EQ(verdict(ours, ours), TailVerdict::kSame);
  Bytes more = ours;
  const Bytes next = batch(45, 45, 3);
  more.insert(more.end(), next.begin(), next.end());
  EXPECT_EQ(verdict(ours, more), TailVerdict::kSame);
  Bytes header_only(ours.begin(), ours.begin() + kBatchHeaderBytes);
  EXPECT_EQ(verdict(ours, header_only), TailVerdict::kSame) << "the header with its CRC is enough";
}

TEST(TailCheck, OtherRecordsAtTheSameOffsetsAreAnotherBatch) {
  const TailComparison result = compare_tail(batch(40, 44, 3, "old"), batch(40, 44, 3, "new"));
  EXPECT_EQ(result.verdict, TailVerdict::kAnother);
  EXPECT_THAT(result.message, testing::HasSubstr("offsets 40..44, epoch 3"));
}

TEST(TailCheck, OtherBoundariesOrEpochsAreAnotherBatch) {
  EXPECT_EQ(verdict(batch(40, 44, 3), batch(40, 42, 3)), TailVerdict::kAnother);
  EXPECT_EQ(verdict(batch(40, 44, 3), batch(38, 44, 3)), TailVerdict::kAnother);
  EXPECT_EQ(verdict(batch(40, 44, 3), batch(42, 44, 3)), TailVerdict::kAnother);
  EXPECT_EQ(verdict(batch(40, 44, 3), batch(40, 44, 4)), TailVerdict::kAnother);
}

TEST(TailCheck, NoBatchThereProvesNothing) {
  const Bytes ours = batch(40, 44, 3);
  EXPECT_EQ(verdict(ours, {}), TailVerdict::kUnproven);
  EXPECT_EQ(verdict(ours, batch(45, 49, 3)), TailVerdict::kUnproven) << "compacted away";
  EXPECT_EQ(verdict(ours, Bytes(ours.begin(), ours.begin() + 30)), TailVerdict::kUnproven);
}

// A cleaner drops records and keeps offsets, epoch and producer.
TEST(TailCheck, ABatchThatACleanerRewroteProvesNothing) {
  const Bytes ours = batch(40, 44, 3);
  const Bytes fewer = with_right_crc(with_field<std::int32_t>(ours, batch_at::kRecordCount, 2));
  EXPECT_EQ(verdict(ours, fewer), TailVerdict::kUnproven);
  EXPECT_EQ(verdict(fewer, ours), TailVerdict::kUnproven) << "our own cleaner";
  const Bytes horizon = with_right_crc(
      with_field<std::int16_t>(ours, batch_at::kAttributes, batch_attributes::kDeleteHorizon));
  EXPECT_EQ(verdict(ours, horizon), TailVerdict::kUnproven);
  const Bytes other_producer =
      with_right_crc(with_field<std::int64_t>(fewer, batch_at::kProducerId, 77));
  EXPECT_EQ(verdict(ours, other_producer), TailVerdict::kAnother);
}

}  // namespace
}  // namespace kmirror::mirror
