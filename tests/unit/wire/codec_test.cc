// What the codec promises for any message: versions, defaults, tags, errors.
#include <gtest/gtest.h>

#include "kmirror/wire/api_table.h"
#include "kmirror/wire/create_topics_request.h"
#include "kmirror/wire/fetch_request.h"
#include "kmirror/wire/fetch_response.h"
#include "kmirror/wire/framing.h"
#include "kmirror/wire/metadata_request.h"
#include "kmirror/wire/read_mirror_states_response.h"
#include "kmirror/wire/record_value.h"
#include "kmirror/wire/topic_record.h"

namespace kmirror::wire {
namespace {

template <class Message>
std::string hex_of(const Message& message, std::int16_t version) {
  Writer writer;
  const auto result = message.encode(writer, ApiVersion(version));
  if (!result) return result.error().message;
  EXPECT_EQ(*message.encoded_size(ApiVersion(version)), writer.size());
  return to_hex(writer.take_slice().span());
}

template <class Message>
Result<Message> from(std::string_view hex, std::int16_t version) {
  Reader reader(Slice::take(from_hex(hex)));
  return Message::decode(reader, ApiVersion(version));
}

FetchRequest fetch_of_one_partition() {
  FetchRequest::FetchPartition partition;
  partition.partition = 2;
  partition.fetch_offset = Offset{7};
  partition.partition_max_bytes = 100;
  FetchRequest::FetchTopic topic;
  topic.topic = "t";
  topic.partitions.push_back(partition);
  FetchRequest request;
  request.topics.push_back(topic);
  return request;
}

TEST(Codec, OldVersionHasNeitherTagsNorNewFields) {
  EXPECT_EQ(hex_of(fetch_of_one_partition(), 4),
            "ffffffff"  // replica id
            "00000000"
            "00000000"
            "7fffffff"
            "00"
            "00000001"
            "000174"
            "00000001"
            "00000002"
            "0000000000000007"
            "00000064");
}

TEST(Codec, MirrorLeaderEpochIsLeftOutWhenItSaysNothing) {
  FetchRequest request = fetch_of_one_partition();
  const std::string without = hex_of(request, 12);
  request.topics[0].partitions[0].mirror_leader_epoch = LeaderEpoch{5};
  const std::string with = hex_of(request, 12);
  // The tag 12790 is f663 as a varint; one tag, four bytes.
  const std::string tagged = "01f6630400000005";
  EXPECT_EQ(without.find("f663"), std::string::npos);
  EXPECT_NE(with.find(tagged), std::string::npos);
  const auto back = from<FetchRequest>(with, 12);
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(*back, request);
}

TEST(Codec, UnknownTagsSurviveInOrder) {
  FetchRequest request;
  request.cluster_id = "c";                      // tag 0
  request.replica_state.replica_id = NodeId{3};  // tag 1, from version 15
  request.unknown_tagged_fields.emplace_back(9, Bytes{1, 2, 3});
  const std::string hex = hex_of(request, 15);
  const auto back = from<FetchRequest>(hex, 15);
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(*back, request);
  EXPECT_TRUE(
      hex.ends_with("03"
                    "00020263"
                    "010d"
                    "00000003ffffffffffffffff00"
                    "0903010203"))
      << hex;
}

TEST(Codec, TagsOutOfOrderAreRefused) {
  const auto back = from<ResponseHeader>(
      "00000001"
      "02"
      "0500"
      "0500",
      1);
  ASSERT_FALSE(back);
  EXPECT_EQ(back.error().code.value(), static_cast<int>(BytesErrc::kBadValue));
  EXPECT_NE(back.error().message.find("ResponseHeader"), std::string::npos);
}

TEST(Codec, TagWithAFalseSizeIsRefused) {
  Writer writer;
  FetchRequest request;
  request.cluster_id = "c";
  std::string hex = hex_of(request, 12);
  hex.replace(hex.rfind("00020263"), 8, "00030263");
  hex += "00";
  const auto back = from<FetchRequest>(hex, 12);
  ASSERT_FALSE(back);
  EXPECT_EQ(back.error().code.value(), static_cast<int>(BytesErrc::kBadLength));
}

TEST(Codec, FieldThatTheVersionLacksIsAnError) {
  FetchRequest request = fetch_of_one_partition();
  request.topics[0].partitions[0].last_fetched_epoch = LeaderEpoch{1};
  const std::string error = hex_of(request, 11);
  EXPECT_EQ(error.find("FetchRequest.FetchPartition.LastFetchedEpoch: "), 0U) << error;
  EXPECT_FALSE(request.encoded_size(ApiVersion(11)));
}

TEST(Codec, IgnorableFieldIsDropped) {
  FetchRequest request = fetch_of_one_partition();
  const std::string plain = hex_of(request, 4);
  request.rack_id = "r";
  EXPECT_EQ(hex_of(request, 4), plain);
}

TEST(Codec, VersionOutOfRangeNamesTheRange) {
  const auto back = from<FetchRequest>("", 3);
  ASSERT_FALSE(back);
  EXPECT_EQ(to_kafka_error(back.error()), ErrorCode::UNSUPPORTED_VERSION);
  EXPECT_EQ(back.error().message, "FetchRequest version 3: supported are 4 to 18");
}

TEST(Codec, NullOnlyWhereTheVersionAllowsIt) {
  MetadataRequest request;
  request.topics.reset();
  EXPECT_EQ(hex_of(request, 1), "ffffffff");
  EXPECT_NE(hex_of(request, 0).find("null is not allowed in version 0"), std::string::npos);
  EXPECT_TRUE(from<MetadataRequest>("ffffffff", 1));
  const auto back = from<MetadataRequest>("ffffffff", 0);
  ASSERT_FALSE(back);
  EXPECT_EQ(back.error().message, "MetadataRequest.Topics: null is not allowed in version 0");
}

TEST(Codec, RecordsShareTheFrame) {
  FetchResponse::PartitionData partition;
  const Bytes batch(1000, 0xab);
  partition.records = ByteChain(Slice::copy_of(batch));
  FetchResponse::FetchableTopicResponse topic;
  topic.partitions.push_back(partition);
  FetchResponse response;
  response.responses.push_back(topic);
  Writer writer;
  ASSERT_TRUE(response.encode(writer, ApiVersion(11)));
  const Slice frame = writer.take_slice();
  Reader reader(frame);
  const auto back = FetchResponse::decode(reader, ApiVersion(11));
  ASSERT_TRUE(back) << back.error().message;
  const auto& records = back->responses.at(0).partitions.at(0).records;
  ASSERT_TRUE(records);
  ASSERT_EQ(records->fragments().size(), 1U);
  const std::uint8_t* at = records->fragments()[0].memory.data();
  EXPECT_GE(at, frame.data());
  EXPECT_LT(at, frame.data() + frame.size());
  EXPECT_EQ(records->size(), batch.size());
}

TEST(Codec, HostileCountIsRefusedBeforeAllocation) {
  const auto back = from<FetchRequest>(
      "ffffffff"
      "00000000"
      "00000000"
      "7fffffff"
      "00"
      "7fffffff",
      4);
  ASSERT_FALSE(back);
  EXPECT_EQ(back.error().code.value(), static_cast<int>(BytesErrc::kBadLength));
}

TEST(Codec, SeedAndNewestBodyOfReadMirrorStates) {
  ReadMirrorStatesResponse::PartitionResult partition;
  partition.partition_index = 1;
  partition.last_mirrored_offset = Offset{9};
  partition.state = 4;
  ReadMirrorStatesResponse::TopicResult topic;
  topic.topic_name = "t";
  topic.partitions.push_back(partition);
  ReadMirrorStatesResponse response;
  response.topics.push_back(topic);
  EXPECT_EQ(hex_of(response, 0),
            "00000000"
            "0000"
            "02"
            "0274"
            "02"
            "00000001"
            "0000000000000009"
            "04"
            "0000"
            "00"
            "00"
            "00");
  EXPECT_EQ(hex_of(response, 1),
            "00000000"
            "0000"
            "00"
            "02"
            "0274"
            "02"
            "00000001"
            "04"
            "ffffffff"
            "00000000"
            "ffffffff"
            "ffffffffffffffff"
            "0000"
            "00"
            "0000"
            "ff"
            "00"
            "00"
            "00");
}

TEST(ApiTable, FindsByKeyAndName) {
  const ApiInfo* fetch = find_api(ApiKey(1));
  ASSERT_NE(fetch, nullptr);
  EXPECT_EQ(fetch->name, "Fetch");
  EXPECT_EQ(fetch->max_version, ApiVersion(18));
  EXPECT_EQ(find_api("Fetch"), fetch);
  EXPECT_EQ(find_api(ApiKey(12797)), nullptr);
  EXPECT_EQ(api_name(ApiKey(12799)), "DescribeClusterMirrors");
  EXPECT_EQ(api_name(ApiKey(-1)), "Unknown");
  EXPECT_EQ(find_api("InitProducerId")->stable_max(), ApiVersion(5));
  for (std::size_t i = 1; i < all_apis().size(); ++i) {
    EXPECT_LT(all_apis()[i - 1].key, all_apis()[i].key);
  }
}

TEST(Framing, RequestAndItsHeader) {
  const auto frame = encode_request(MetadataRequest(), ApiVersion(1), 7, "me");
  ASSERT_TRUE(frame);
  const Slice flat = *frame->flatten();
  EXPECT_EQ(to_hex(flat.span()),
            "00000010"
            "0003"
            "0001"
            "00000007"
            "00026d65"
            "00000000");
  EXPECT_EQ(*frame_length(flat.span(), 100), flat.size() - kFramePrefixBytes);
  EXPECT_FALSE(frame_length(flat.span(), 15));
  Reader reader(flat.sub(4, flat.size() - 4));
  const auto header = decode_request_header(reader);
  ASSERT_TRUE(header);
  EXPECT_EQ(header->client_id, "me");
  EXPECT_EQ(reader.remaining(), 4U);
}

TEST(Framing, FlexibleHeaderKeepsTheOldClientId) {
  const auto frame = encode_request(MetadataRequest(), ApiVersion(9), 7, "me");
  ASSERT_TRUE(frame);
  EXPECT_EQ(to_hex(frame->flatten()->span()),
            "00000012"
            "0003"
            "0009"
            "00000007"
            "00026d65"
            "00"
            "01"
            "01000000");
}

TEST(Framing, HeaderVersions) {
  EXPECT_EQ(response_header_version(ApiKey(18), ApiVersion(4)), ApiVersion(0));
  EXPECT_EQ(response_header_version(ApiKey(3), ApiVersion(9)), ApiVersion(1));
  EXPECT_EQ(response_header_version(ApiKey(3), ApiVersion(8)), ApiVersion(0));
  EXPECT_EQ(request_header_version(ApiKey(18), ApiVersion(3)), ApiVersion(2));
  EXPECT_EQ(request_header_version(ApiKey(12800), ApiVersion(0)), ApiVersion(2));
  EXPECT_EQ(request_header_version(ApiKey(4711), ApiVersion(9)), ApiVersion(1));
}

// G01: an ApiVersions request of a version nobody knows is read up to its client id.
TEST(Framing, UnknownApiVersionsVersion) {
  Reader reader(Slice::take(from_hex("001200630000000700017400")));
  const auto header = decode_request_header(reader);
  ASSERT_TRUE(header) << header.error().message;
  EXPECT_EQ(header->request_api_version, 99);
  EXPECT_EQ(header->correlation_id, 7);
  EXPECT_EQ(header->client_id, "t");
}

// G02: an unknown tag in the header is passed over; one that claims 2 GiB is refused.
TEST(Framing, TagsInTheRequestHeader) {
  Reader reader(
      Slice::take(from_hex("001200030000000900017400"
                           "02740002310107"
                           "03616263")));
  ASSERT_TRUE(decode_request_header(reader));
  Reader hostile(Slice::take(from_hex("00120003000000090001740107ffffffff07")));
  const auto refused = decode_request_header(hostile);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code.value(), static_cast<int>(BytesErrc::kBadLength));
}

TEST(RecordValue, MetadataRecord) {
  TopicRecord record;
  record.name = "t";
  const auto value = encode_metadata_record(record, ApiVersion(0));
  ASSERT_TRUE(value);
  EXPECT_EQ(to_hex(value->span()),
            "010200"
            "0274"
            "00000000000000000000000000000000"
            "00");
  Reader reader(*value);
  const auto head = decode_metadata_head(reader);
  ASSERT_TRUE(head);
  EXPECT_EQ(head->api_key, TopicRecord::kApiKey);
  const auto back = TopicRecord::decode(reader, head->version);
  ASSERT_TRUE(back);
  EXPECT_EQ(*back, record);
  Reader other(Slice::take(from_hex("020200")));
  EXPECT_FALSE(decode_metadata_head(other));
}

}  // namespace
}  // namespace kmirror::wire
