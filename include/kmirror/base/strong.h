// Strong: an integer that cannot be mixed up with another kind of integer.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

#include <fmt/format.h>

namespace kmirror {

/// Tag makes the kind, Rep holds the value. Explicit to construct; get() takes it out again.
template <class Tag, class Rep>
class Strong {
 public:
  using rep = Rep;
  constexpr Strong() = default;
  constexpr explicit Strong(Rep value) : value_(value) {}
  [[nodiscard]] constexpr Rep get() const { return value_; }
  friend constexpr auto operator<=>(Strong, Strong) = default;

 private:
  Rep value_{};
};

}  // namespace kmirror

template <class Tag, class Rep>
struct std::hash<kmirror::Strong<Tag, Rep>> {
  std::size_t operator()(kmirror::Strong<Tag, Rep> v) const noexcept {
    return std::hash<Rep>{}(v.get());
  }
};

template <class Tag, class Rep>
struct fmt::formatter<kmirror::Strong<Tag, Rep>> : fmt::formatter<Rep> {
  template <class Context>
  auto format(kmirror::Strong<Tag, Rep> v, Context& context) const {
    return fmt::formatter<Rep>::format(v.get(), context);
  }
};
