#include "golden/wire/registry.h"

#include <algorithm>

namespace kmirror::wire::test {

std::vector<MessageCodec> registry_part_0();
std::vector<MessageCodec> registry_part_1();
std::vector<MessageCodec> registry_part_2();
std::vector<MessageCodec> registry_part_3();
std::vector<MessageCodec> registry_part_4();
std::vector<MessageCodec> registry_part_5();
std::vector<MessageCodec> registry_part_6();
std::vector<MessageCodec> registry_part_7();

namespace {

std::vector<MessageCodec> join() {
  std::vector<MessageCodec> all;
  for (const auto part : {&registry_part_0, &registry_part_1, &registry_part_2, &registry_part_3,
                          &registry_part_4, &registry_part_5, &registry_part_6, &registry_part_7}) {
    for (const MessageCodec& codec : part()) all.push_back(codec);
  }
  std::sort(all.begin(), all.end(),
            [](const MessageCodec& a, const MessageCodec& b) { return a.name < b.name; });
  return all;
}

}  // namespace

const std::vector<MessageCodec>& registry() {
  static const std::vector<MessageCodec> all = join();
  return all;
}

const MessageCodec* find_message(std::string_view name) {
  const auto& all = registry();
  const auto found = std::lower_bound(
      all.begin(), all.end(), name,
      [](const MessageCodec& codec, std::string_view wanted) { return codec.name < wanted; });
  return found != all.end() && found->name == name ? &*found : nullptr;
}

}  // namespace kmirror::wire::test
