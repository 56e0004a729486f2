// Four table look-ups a word ("slicing by 4"): old message formats are rare, so this is fast
// enough.
#include "kmirror/bytes/crc32.h"

#include <array>
#include <cstring>

namespace kmirror {
namespace {

constexpr std::uint32_t kPolynomial = 0xedb88320;  // reflected

using Tables = std::array<std::array<std::uint32_t, 256>, 4>;

constexpr Tables make_tables() {
  Tables tables{};
  for (std::uint32_t value = 0; value < 256; ++value) {
    std::uint32_t crc = value;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kPolynomial : 0);
    tables[0][value] = crc;
  }
  for (std::size_t slice = 1; slice < tables.size(); ++slice) {
    for (std::size_t value = 0; value < 256; ++value) {
      const std::uint32_t before = tables[slice - 1][value];
      tables[slice][value] = (before >> 8) ^ tables[0][before & 255];
    }
  }
  return tables;
}

constexpr Tables kTables = make_tables();

}  // namespace

std::uint32_t crc32(ByteSpan bytes, std::uint32_t previous) {
  std::uint32_t crc = ~previous;
  const std::uint8_t* p = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= 4; left -= 4, p += 4) {
    std::uint32_t word = 0;
    std::memcpy(&word, p, sizeof(word));
    crc ^= word;
    crc = kTables[3][crc & 255] ^ kTables[2][(crc >> 8) & 255] ^ kTables[1][(crc >> 16) & 255] ^
          kTables[0][crc >> 24];
  }
  for (; left > 0; --left, ++p) crc = (crc >> 8) ^ kTables[0][(crc ^ *p) & 255];
  return ~crc;
}

}  // namespace kmirror
