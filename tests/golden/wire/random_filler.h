// RandomFiller: a codec that puts random values into the fields a version has.
#pragma once

#include <random>

#include "golden/wire/registry.h"
#include "kmirror/wire/codec.h"
#include "kmirror/wire/message.h"

namespace kmirror::wire::test {

class RandomFiller {
 public:
  RandomFiller(std::mt19937_64& random, SampleKind kind, ApiVersion version, bool flexible)
      : random_(random), kind_(kind), version_(version.get()), flexible_(flexible) {}

  template <class Struct>
  void structure(Struct& value) {
    ++depth_;
    Fields<Struct>::visit(*this, value);
    if constexpr (requires { value.unknown_tagged_fields; }) {
      if (flexible_) unknown_tags(value.unknown_tagged_fields);
    }
    --depth_;
  }

  template <class T>
  void field(const FieldSpec& spec, T& value, const T& /*standard*/) {
    if (!spec.has(version_)) return;
    if (spec.tag != kNoTag && (kind_ == SampleKind::kNulls || below(3) == 0)) return;
    fill(spec, value);
  }

 private:
  template <class T>
  void fill(const FieldSpec& spec, T& value) {
    if constexpr (kIsOptional<T>) {
      if (spec.allows_null(version_) && (kind_ == SampleKind::kNulls || below(4) == 0)) {
        value.reset();
      } else {
        fill(spec, value.emplace());
      }
    } else if constexpr (std::is_same_v<Plain_t<T>, bool>) {
      value = below(2) == 1;
    } else if constexpr (std::is_same_v<Plain_t<T>, double>) {
      value = static_cast<double>(static_cast<std::int32_t>(random_())) / 8.0;
    } else if constexpr (kIsNumber<T>) {
      value = static_cast<T>(static_cast<Plain<T>>(random_()));
    } else if constexpr (kIsArray<T>) {
      value.resize(array_size());
      for (auto& element : value) fill(spec, element);
    } else if constexpr (std::is_same_v<T, Uuid>) {
      std::array<std::uint8_t, 16> raw{};
      for (auto& byte : raw) byte = static_cast<std::uint8_t>(random_());
      value = Uuid(raw);
    } else if constexpr (std::is_same_v<T, std::string>) {
      value = text();
    } else if constexpr (std::is_same_v<T, Bytes>) {
      value = bytes(length());
    } else if constexpr (std::is_same_v<T, ByteChain>) {
      value = ByteChain(Slice::take(bytes(kind_ == SampleKind::kLong ? 1500 : below(100))));
    } else {
      structure(value);
    }
  }

  // The plain type of a number, void of anything else.
  template <class T>
  struct PlainOf {
    using type = void;
  };
  template <class T>
    requires kIsNumber<T>
  struct PlainOf<T> {
    using type = Plain<T>;
  };
  template <class T>
  using Plain_t = typename PlainOf<T>::type;

  [[nodiscard]] std::size_t below(std::size_t bound);
  [[nodiscard]] std::size_t length();
  [[nodiscard]] std::size_t array_size();
  [[nodiscard]] std::string text();
  [[nodiscard]] Bytes bytes(std::size_t count);
  void unknown_tags(std::vector<UnknownTaggedField>& into);

  std::mt19937_64& random_;
  const SampleKind kind_;
  const std::int16_t version_;
  const bool flexible_;
  int depth_ = 0;
};

}  // namespace kmirror::wire::test
