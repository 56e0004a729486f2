// UniqueFunction<R(Args...)>: a callable that is moved, never copied, so that it can own buffers.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

namespace kmirror {

template <class Signature>
class UniqueFunction;

template <class R, class... Args>
class UniqueFunction<R(Args...)> {
 public:
  UniqueFunction() = default;
  UniqueFunction(std::nullptr_t) {}  // NOLINT(google-explicit-constructor)

  template <class F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, UniqueFunction> &&
             std::is_invocable_r_v<R, std::remove_cvref_t<F>&, Args...>)
  UniqueFunction(F&& f)  // NOLINT(google-explicit-constructor)
      : call_(std::make_unique<Holder<std::remove_cvref_t<F>>>(std::forward<F>(f))) {}

  [[nodiscard]] explicit operator bool() const { return call_ != nullptr; }
  R operator()(Args... args) { return call_->invoke(std::forward<Args>(args)...); }

 private:
  struct Base {
    Base() = default;
    Base(const Base&) = delete;
    Base& operator=(const Base&) = delete;
    virtual ~Base() = default;
    virtual R invoke(Args... args) = 0;
  };
  template <class F>
  struct Holder final : Base {
    template <class G>
    explicit Holder(G&& g) : f(std::forward<G>(g)) {}
    R invoke(Args... args) override { return f(std::forward<Args>(args)...); }
    F f;
  };
  std::unique_ptr<Base> call_;
};

}  // namespace kmirror
