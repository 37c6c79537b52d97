// Either a value or one sentence that says why there is none.
#pragma once

#include <optional>
#include <string>
#include <utility>

namespace geiger::base {

/// The result of functions that input or the system can make fail.
template <typename T>
class [[nodiscard]] Outcome {
 public:
  Outcome(T value) : value_(std::move(value)) {}  // NOLINT(google-explicit-constructor)
  [[nodiscard]] static Outcome failure(const std::string& reason) {
    Outcome outcome;
    outcome.reason_ = reason;
    return outcome;
  }

  [[nodiscard]] bool has_value() const { return value_.has_value(); }
  [[nodiscard]] const T& value() const { return *value_; }
  [[nodiscard]] T& value() { return *value_; }
  /// Without a full stop; empty if there is a value.
  [[nodiscard]] const std::string& reason() const { return reason_; }

 private:
  Outcome() = default;
  std::optional<T> value_;
  std::string reason_;
};

}  // namespace geiger::base
