#include <memory>

#include <lz4frame.h>

#include "compression/codecs.h"

namespace kmirror::compression {
namespace {

struct FreeContext {
  void operator()(LZ4F_dctx* context) const { LZ4F_freeDecompressionContext(context); }
};

}  // namespace

Result<Slice> lz4_compress(ByteSpan input) {
  LZ4F_preferences_t preferences{};
  // As Kafka's writer: 64 KiB blocks that do not depend on each other, no content checksum.
  preferences.frameInfo.blockSizeID = LZ4F_max64KB;
  preferences.frameInfo.blockMode = LZ4F_blockIndependent;
  Bytes out(LZ4F_compressFrameBound(input.size(), &preferences));
  const std::size_t size =
      LZ4F_compressFrame(out.data(), out.size(), input.data(), input.size(), &preferences);
  if (LZ4F_isError(size) != 0) return cannot_compress("lz4");
  out.resize(size);
  return Slice::take(std::move(out));
}

Result<Slice> lz4_decompress(ByteSpan input, std::size_t limit) {
  LZ4F_dctx* raw = nullptr;
  if (LZ4F_isError(LZ4F_createDecompressionContext(&raw, LZ4F_VERSION)) != 0) {
    return corrupt("lz4", "no memory for the decoder");
  }
  const std::unique_ptr<LZ4F_dctx, FreeContext> context(raw);
  Output out(input.size() * 3, limit);
  std::size_t hint = 1;
  bool drained = true;
  while (!input.empty() || !drained) {
    if (out.is_full() && !out.grow()) return too_large("lz4", limit);
    std::size_t produced = out.free_size();
    std::size_t consumed = input.size();
    hint = LZ4F_decompress(context.get(), out.free(), &produced, input.data(), &consumed, nullptr);
    if (LZ4F_isError(hint) != 0) return corrupt("lz4", LZ4F_getErrorName(hint));
    out.add(produced);
    input = input.subspan(consumed);
    // Output may still wait inside the decoder when what it was given is full.
    drained = !out.is_full() || hint == 0;
    if (consumed == 0 && produced == 0 && drained) break;
  }
  // 0 is the end of a frame; anything else asks for more input.
  if (hint != 0) return corrupt("lz4", "cut before the end of the frame");
  return out.take();
}

}  // namespace kmirror::compression
