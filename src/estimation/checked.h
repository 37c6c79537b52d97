// A value, or why the input was rejected.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

namespace geiger::estimation {

/// Reasons to reject the input.
enum class InputError : std::uint8_t {
  kLevel,        ///< A confidence level outside (0, 1) or NaN.
  kProbability,  ///< A probability outside its range or NaN.
  kCount,        ///< An impossible number of samples or trials.
  kInterval,     ///< A sampling interval below 1 byte, infinite or NaN.
  kSize,         ///< An impossible size, or a drawn byte after its object.
  kPart,         ///< A part that does not fit into its whole.
};

/// True inside (0, 1): not for 0, 1 or NaN.
[[nodiscard]] constexpr bool is_probability(double p) { return p > 0 && p < 1; }

/// A clause for a message: "the confidence level is not between 0 and 1".
[[nodiscard]] constexpr std::string_view clause(InputError error) {
  switch (error) {
    case InputError::kLevel:
      return "the confidence level is not between 0 and 1";
    case InputError::kProbability:
      return "a probability is not between 0 and 1";
    case InputError::kCount:
      return "a number of samples is not possible";
    case InputError::kInterval:
      return "a sampling interval is not possible";
    case InputError::kSize:
      return "a size is not possible";
    case InputError::kPart:
      return "a part does not fit into its whole";
  }
  return "the input is not possible";
}

/// Either a T or an InputError; asking for the absent one is a bug.
template <typename T>
class [[nodiscard]] Checked {
 public:
  Checked(T value) : value_(std::move(value)) {}  // NOLINT(google-explicit-constructor)
  Checked(InputError error) : error_(error) {}    // NOLINT(google-explicit-constructor)

  [[nodiscard]] bool has_value() const { return value_.has_value(); }
  [[nodiscard]] const T& value() const { return *value_; }
  [[nodiscard]] InputError error() const { return error_; }

 private:
  std::optional<T> value_;
  InputError error_ = InputError::kCount;
};

}  // namespace geiger::estimation
