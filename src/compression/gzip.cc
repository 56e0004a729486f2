#include <limits>

#include <zlib.h>

#include "compression/codecs.h"

namespace kmirror::compression {
namespace {

constexpr int kGzipWindow = 15 + 16;  // zlib's way to ask for a gzip header

struct Inflate {
  z_stream stream{};
  bool open = false;
  Inflate() { open = inflateInit2(&stream, kGzipWindow) == Z_OK; }
  Inflate(const Inflate&) = delete;
  Inflate& operator=(const Inflate&) = delete;
  ~Inflate() {
    if (open) inflateEnd(&stream);
  }
};

}  // namespace

Result<Slice> gzip_compress(ByteSpan input) {
  z_stream stream{};
  if (input.size() > std::numeric_limits<uInt>::max() ||
      deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzipWindow, 8,
                   Z_DEFAULT_STRATEGY) != Z_OK) {
    return cannot_compress("gzip");
  }
  Bytes out(deflateBound(&stream, static_cast<uLong>(input.size())));
  stream.next_in = const_cast<Bytef*>(input.data());
  stream.avail_in = static_cast<uInt>(input.size());
  stream.next_out = out.data();
  stream.avail_out = static_cast<uInt>(out.size());
  const int code = deflate(&stream, Z_FINISH);
  const std::size_t size = out.size() - stream.avail_out;
  deflateEnd(&stream);
  if (code != Z_STREAM_END) return cannot_compress("gzip");
  out.resize(size);
  return Slice::take(std::move(out));
}

Result<Slice> gzip_decompress(ByteSpan input, std::size_t limit) {
  if (input.size() > std::numeric_limits<uInt>::max()) return too_large("gzip", limit);
  Inflate inflater;
  if (!inflater.open) return corrupt("gzip", "no memory for the decoder");
  z_stream& stream = inflater.stream;
  stream.next_in = const_cast<Bytef*>(input.data());
  stream.avail_in = static_cast<uInt>(input.size());
  Output out(input.size() * 4, limit);
  while (true) {
    if (out.is_full() && !out.grow()) return too_large("gzip", limit);
    const auto room =
        static_cast<uInt>(std::min<std::size_t>(out.free_size(), std::numeric_limits<uInt>::max()));
    stream.next_out = out.free();
    stream.avail_out = room;
    const int code = inflate(&stream, Z_NO_FLUSH);
    out.add(room - stream.avail_out);
    if (code == Z_STREAM_END) {
      if (stream.avail_in == 0) return out.take();
      // Another member follows.
      if (inflateReset(&stream) != Z_OK) return corrupt("gzip", "cannot go on after a member");
    } else if (code != Z_OK && code != Z_BUF_ERROR) {
      return corrupt("gzip", stream.msg != nullptr ? stream.msg : "broken data");
    } else if (stream.avail_in == 0 && stream.avail_out != 0) {
      return corrupt("gzip", "cut before the end");
    }
  }
}

}  // namespace kmirror::compression
