// One part of the registry. Compiled once a part, with KM_PART_FILE (the list of its messages) and
// KM_PART_FUNCTION set: one file with everything would take minutes.
#include KM_PART_FILE

#include "golden/wire/random_filler.h"
#include "golden/wire/registry.h"
#include "kmirror/wire/json.h"

namespace kmirror::wire::test {
namespace {

template <class Message>
Result<Recoded> encode_and_render(const Message& message, ApiVersion version) {
  Recoded out;
  Writer writer;
  KM_TRY_VOID(message.encode(writer, version));
  KM_TRY(size, message.encoded_size(version));
  const Slice bytes = writer.take_slice();
  out.size = size;
  out.bytes.assign(bytes.span().begin(), bytes.span().end());
  out.json = to_json(message, version);
  return out;
}

template <class Message>
Result<void> decode_only(const Slice& frame, ApiVersion version) {
  Reader reader(frame);
  KM_TRY_VOID(Message::decode(reader, version));
  return {};
}

template <class Message>
Result<Recoded> recode(const Slice& frame, ApiVersion version) {
  Reader reader(frame);
  KM_TRY(message, Message::decode(reader, version));
  KM_TRY(out, encode_and_render(message, version));
  out.left = reader.remaining();
  return out;
}

template <class Message>
Result<Recoded> make(std::mt19937_64& random, SampleKind kind, ApiVersion version) {
  Message message;
  RandomFiller filler(random, kind, version, version >= Message::kFlexibleFrom);
  if (kind != SampleKind::kDefaults) filler.structure(message);
  return encode_and_render(message, version);
}

template <class Message>
MessageCodec codec_of() {
  MessageCodec codec;
  codec.name = Message::kName;
  codec.min = Message::kMinVersion;
  codec.max = Message::kMaxVersion;
  codec.flexible_from = Message::kFlexibleFrom;
  codec.decode = &decode_only<Message>;
  codec.recode = &recode<Message>;
  codec.make = &make<Message>;
  return codec;
}

}  // namespace

std::vector<MessageCodec> KM_PART_FUNCTION() {
  std::vector<MessageCodec> part;
#define KM_MESSAGE(name) part.push_back(codec_of<name>());
#include KM_PART_FILE
#undef KM_MESSAGE
  return part;
}

}  // namespace kmirror::wire::test
