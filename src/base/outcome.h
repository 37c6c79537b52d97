// Either a value or one sentence that says why it failed: how input and the system make
// functions fail, and GEIGER_TRY, which passes a failure on to the caller.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

namespace geiger::base {

/// What is at fault; determines the exit code of the command line.
enum class Fault : std::uint8_t {
  kInput,    ///< The input, or the system.
  kRequest,  ///< The request: what it asks for is not available.
  kUsage,    ///< The request; the verb's help explains the valid ones.
};

/// Why something could not be done. Becomes a failed Outcome of any type.
struct Failure {
  std::string reason;  ///< Without a full stop; not empty.
  Fault fault = Fault::kInput;
};

/// The result of a function that can fail because of its input or the system. For functions
/// without a result Outcome<void>, in which `return {};` is success. `Error` has a `reason`; layers
/// whose failures carry more than a Failure have a type of their own.
template <typename T, typename Error = Failure>
class [[nodiscard]] Outcome {
  using Value = std::conditional_t<std::is_void_v<T>, std::monostate, T>;

 public:
  Outcome() requires std::is_void_v<T> : value_(Value()) {}
  Outcome(Value value) : value_(std::move(value)) {}        // NOLINT(google-explicit-constructor)
  Outcome(Error failure) : failure_(std::move(failure)) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] bool has_value() const { return value_.has_value(); }
  [[nodiscard]] const Value& value() const { return *value_; }
  [[nodiscard]] Value& value() { return *value_; }
  [[nodiscard]] const Value* operator->() const { return &*value_; }
  [[nodiscard]] Value* operator->() { return &*value_; }
  /// Moves the value out.
  Value release() { return std::move(*value_); }
  /// For outcomes of other types. Its reason is empty if there is a value.
  [[nodiscard]] const Error& failure() const { return failure_; }
  [[nodiscard]] const std::string& reason() const { return failure_.reason; }

  /// This outcome; a failure gets this fault, and its reason the prefix.
  [[nodiscard]] Outcome failing_as(Fault fault, std::string_view prefix = {}) && {
    if (!has_value()) failure_ = {std::string(prefix) + failure_.reason, fault};
    return std::move(*this);
  }
  [[nodiscard]] Outcome with_prefix(std::string_view prefix) && {
    return std::move(*this).failing_as(Fault::kInput, prefix);
  }

 private:
  std::optional<Value> value_;
  Error failure_;
};

}  // namespace geiger::base

/// The value of an Outcome; if it failed, the enclosing function (or lambda) returns its failure.
///
///     const Bytes size = GEIGER_TRY(parse_size(text));
///     GEIGER_TRY(check_owner(status));
///
/// Use it as a statement, an initialiser, the right side of an assignment or a lone argument, so
/// that a return is easy to see. A statement expression: an extension of GCC and clang, which both
/// destroy the temporaries of the enclosing expression on return.
#define GEIGER_TRY(...)                                   \
  __extension__({                                         \
    auto outcome_ = (__VA_ARGS__);                        \
    if (!outcome_.has_value()) return outcome_.failure(); \
    outcome_.release();                                   \
  })
