// Compression: the four codecs of Kafka's batches, whole payloads at a time.
// Owner: any thread; no state. Never trusts a length: output is bounded by the caller.
// Sources: Kafka 4.4 CompressionType; KIP-110 (zstd), KIP-57 and KAFKA-3160 (lz4 frames); xerial
// snappy-java framing.
#pragma once

#include <cstddef>

#include "kmirror/base/result.h"
#include "kmirror/bytes/slice.h"
#include "kmirror/model/record_batch.h"

namespace kmirror::compression {

/// `input` in the form Kafka's own producer writes: gzip with one member, snappy in xerial blocks,
/// an lz4 frame, a zstd frame, each at the codec's default level. kNone hands `input` back. Error
/// (UNKNOWN_SERVER_ERROR): the library refused, which only lack of memory explains.
[[nodiscard]] Result<Slice> compress(Compression codec, Slice input);

/// The bytes behind `input`, at most `output_limit_bytes`. Every form that Kafka's readers take is
/// taken: gzip with several members, raw and xerial snappy (whatever its version words), lz4 and
/// zstd with several frames. Errors: CORRUPT_MESSAGE (broken or cut input), MESSAGE_TOO_LARGE (more
/// output than the limit), UNSUPPORTED_COMPRESSION_TYPE (a codec number outside the enum).
[[nodiscard]] Result<Slice> decompress(Compression codec, Slice input,
                                       std::size_t output_limit_bytes);

/// The same for an lz4 wrapper of magic 0 or 1, whose header checksum may be the historic wrong
/// one.
[[nodiscard]] Result<Slice> decompress_legacy_lz4(Slice input, std::size_t output_limit_bytes);

}  // namespace kmirror::compression
