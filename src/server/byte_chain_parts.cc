#include "server/byte_chain_parts.h"

#include <algorithm>
#include <utility>

namespace kmirror::server {
namespace {

void append_part(ByteChain& to, const ByteChain::Fragment& from, std::size_t offset,
                 std::size_t count) {
  if (count == 0) return;
  if (from.is_file()) {
    FileRange range = from.file;
    range.position += offset;
    range.size = count;
    to.append(std::move(range));
  } else {
    to.append(from.memory.sub(offset, count));
  }
}

}  // namespace

ByteChain take_front(ByteChain& chain, std::size_t max_bytes) {
  if (chain.size() <= max_bytes) return std::exchange(chain, ByteChain());
  ByteChain front;
  ByteChain rest;
  std::size_t left = max_bytes;
  for (const auto& fragment : chain.fragments()) {
    const std::size_t taken = std::min(left, fragment.size());
    append_part(front, fragment, 0, taken);
    append_part(rest, fragment, taken, fragment.size() - taken);
    left -= taken;
  }
  chain = std::move(rest);
  return front;
}

}  // namespace kmirror::server
