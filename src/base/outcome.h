// Either a value or one sentence that says why there is none: how input and the system make
// functions fail.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace geiger::base {

/// What is at fault; the command line ends with an exit code by it.
enum class Fault : std::uint8_t {
  kInput,    ///< The input, or the system.
  kRequest,  ///< The request: what it asks for is not to be had.
  kUsage,    ///< The request, and the help of the verb explains what can be asked.
};

/// Why something could not be done. Becomes a failed Outcome of any type.
struct Failure {
  std::string reason;  ///< Without a full stop; not empty.
  Fault fault = Fault::kInput;
};

/// The result of functions that input or the system can make fail.
template <typename T>
class [[nodiscard]] Outcome {
 public:
  Outcome(T value) : value_(std::move(value)) {}              // NOLINT(google-explicit-constructor)
  Outcome(Failure failure) : failure_(std::move(failure)) {}  // NOLINT(google-explicit-constructor)
  [[nodiscard]] static Outcome failure(const std::string& reason) { return Failure{reason}; }

  [[nodiscard]] bool has_value() const { return value_.has_value(); }
  [[nodiscard]] const T& value() const { return *value_; }
  [[nodiscard]] T& value() { return *value_; }
  [[nodiscard]] const T* operator->() const { return &*value_; }
  [[nodiscard]] T* operator->() { return &*value_; }
  /// For outcomes of other types. Its reason is empty if there is a value.
  [[nodiscard]] const Failure& failure() const { return failure_; }
  [[nodiscard]] const std::string& reason() const { return failure_.reason; }

 private:
  std::optional<T> value_;
  Failure failure_;
};

/// Of functions that have nothing to hand back: `return {};` is success.
template <>
class [[nodiscard]] Outcome<void> {
 public:
  Outcome() = default;
  Outcome(Failure failure)  // NOLINT(google-explicit-constructor)
      : is_done_(false), failure_(std::move(failure)) {}

  [[nodiscard]] bool has_value() const { return is_done_; }
  /// For outcomes of other types. Its reason is empty after success.
  [[nodiscard]] const Failure& failure() const { return failure_; }
  [[nodiscard]] const std::string& reason() const { return failure_.reason; }

 private:
  bool is_done_ = true;
  Failure failure_;
};

}  // namespace geiger::base
