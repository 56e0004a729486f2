// What stands in front of messages: request and response headers, record heads, frame lengths.
// The first byte chooses which. What must hold: no more than an error, no step past the end.
#include "fuzz/fuzz.h"
#include "kmirror/base/check.h"
#include "kmirror/wire/api_table.h"
#include "kmirror/wire/framing.h"
#include "kmirror/wire/metadata_request.h"
#include "kmirror/wire/record_value.h"

namespace kmirror::fuzz {
namespace {

constexpr std::size_t kMaxFrameBytes = 1 << 20;

void run_one(std::uint8_t choice, const Slice& bytes) {
  Reader reader(bytes);
  switch (choice % 5) {
    case 0: {
      const auto header = wire::decode_request_header(reader);
      KM_CHECK(!header || reader.position() >= 10, "header of {} bytes", reader.position());
      break;
    }
    case 1: {
      const auto apis = wire::all_apis();
      const wire::ApiInfo& api = apis[bytes.size() % apis.size()];
      const auto header = wire::decode_response_header(reader, api.key, api.max_version);
      KM_CHECK(!header || reader.position() >= 4, "header of {} bytes", reader.position());
      break;
    }
    case 2: {
      const auto head = wire::decode_metadata_head(reader);
      KM_CHECK(!head || (head->api_key.get() >= 0 && head->version.get() >= 0),
               "type {} version {}", head->api_key, head->version);
      break;
    }
    case 3: {
      const auto type = wire::decode_coordinator_type(reader);
      KM_CHECK(type.has_value() == (bytes.size() >= 2), "type of {} bytes", bytes.size());
      break;
    }
    default: {
      const auto length = wire::frame_length(bytes.span(), kMaxFrameBytes);
      KM_CHECK(!length || *length <= kMaxFrameBytes, "frame of {} bytes", *length);
      break;
    }
  }
}

}  // namespace

std::vector<Bytes> fuzz_seeds() {
  std::vector<Bytes> seeds;
  for (const int version : {0, 1, 9, 13}) {
    wire::MetadataRequest request;
    const auto frame =
        wire::encode_request(request, ApiVersion(static_cast<std::int16_t>(version)), 7, "client");
    KM_CHECK(frame.has_value(), "{}", frame.error().message);
    const Slice bytes = *frame->flatten();
    for (std::uint8_t choice = 0; choice < 5; ++choice) {
      Bytes seed = {choice};
      // A header is looked for behind the frame's length.
      const std::size_t skipped = choice == 4 ? 0 : wire::kFramePrefixBytes;
      seed.insert(seed.end(), bytes.span().begin() + static_cast<std::ptrdiff_t>(skipped),
                  bytes.span().end());
      seeds.push_back(std::move(seed));
    }
  }
  return seeds;
}

}  // namespace kmirror::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  kmirror::fuzz::run_one(data[0], kmirror::Slice::copy_of(kmirror::ByteSpan(data + 1, size - 1)));
  return 0;
}
