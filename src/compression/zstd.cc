#include <memory>

#include <zstd.h>

#include "compression/codecs.h"

namespace kmirror::compression {
namespace {

constexpr int kLevel = 3;  // zstd's and Kafka's default
// A frame may ask for a window this big at most (2^27 = 128 MiB), the library's own default.
constexpr int kWindowLogMax = 27;

struct FreeStream {
  void operator()(ZSTD_DStream* stream) const { ZSTD_freeDStream(stream); }
};

}  // namespace

Result<Slice> zstd_compress(ByteSpan input) {
  Bytes out(ZSTD_compressBound(input.size()));
  const std::size_t size =
      ZSTD_compress(out.data(), out.size(), input.data(), input.size(), kLevel);
  if (ZSTD_isError(size) != 0) return cannot_compress("zstd");
  out.resize(size);
  return Slice::take(std::move(out));
}

Result<Slice> zstd_decompress(ByteSpan input, std::size_t limit) {
  const std::unique_ptr<ZSTD_DStream, FreeStream> stream(ZSTD_createDStream());
  if (!stream) return corrupt("zstd", "no memory for the decoder");
  ZSTD_DCtx_setParameter(stream.get(), ZSTD_d_windowLogMax, kWindowLogMax);
  Output out(input.size() * 4, limit);
  ZSTD_inBuffer source{input.data(), input.size(), 0};
  std::size_t hint = 1;
  while (true) {
    if (out.is_full() && !out.grow()) return too_large("zstd", limit);
    ZSTD_outBuffer target{out.free(), out.free_size(), 0};
    hint = ZSTD_decompressStream(stream.get(), &target, &source);
    if (ZSTD_isError(hint) != 0) return corrupt("zstd", ZSTD_getErrorName(hint));
    out.add(target.pos);
    if (source.pos == source.size && target.pos < target.size) break;
    if (source.pos == source.size && hint == 0) break;
  }
  if (hint != 0) return corrupt("zstd", "cut before the end of the frame");
  return out.take();
}

}  // namespace kmirror::compression
