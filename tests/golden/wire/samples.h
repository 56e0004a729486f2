// Samples of encoded messages, and the files in which codecs hand them to each other.
// A file is a row of samples: name (2 bytes of length), version (2), bytes (4), JSON (4).
#pragma once

#include <string>
#include <vector>

#include "golden/wire/registry.h"

namespace kmirror::wire::test {

struct Sample {
  Sample() = default;
  std::string name;
  ApiVersion version;
  Bytes bytes;
  std::string json;
};

/// Samples of each kind, eight in all, of every message and version whose name has
/// `part` in it. The same seed gives the same samples. Aborts if one cannot be encoded.
[[nodiscard]] std::vector<Sample> make_samples(std::uint64_t seed, std::string_view part = "");
void write_samples(const std::string& path, const std::vector<Sample>& samples);
/// Aborts if the file cannot be read or ends inside a sample.
[[nodiscard]] std::vector<Sample> read_samples(const std::string& path);

}  // namespace kmirror::wire::test
