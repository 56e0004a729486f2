// NamedCategory: an error category from a name and a function that words its codes.
// Every room makes its category with this one class.
#pragma once

#include <string>

#include <boost/system/error_category.hpp>

namespace kmirror {

// Boost's base class has no virtual destructor on purpose: categories are never deleted.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wnon-virtual-dtor"
class NamedCategory final : public boost::system::error_category {
 public:
  using Words = std::string (*)(int code);
  /// `name` must outlive the category: a string literal.
  NamedCategory(const char* name, Words words) : name_(name), words_(words) {}
  [[nodiscard]] const char* name() const noexcept override { return name_; }
  [[nodiscard]] std::string message(int code) const override { return words_(code); }

 private:
  const char* name_;
  Words words_;
};
#pragma GCC diagnostic pop

}  // namespace kmirror
