// Whether a selection contains a sample: yes, no, or unknown.
//
// Unknown samples are open in the sums (estimation/sums.h): nothing in value and lower limit,
// all of it in the upper limit. Rows would otherwise be too small, and look sure of it.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace geiger::profile {

struct Sample;

/// In this order the least of several answers is that of "and", the greatest that of "or".
class Answer {
 public:
  enum Value : std::uint8_t { kNo, kOpen, kYes };

  constexpr Answer(Value value) : value_(value) {}
  /// Of a question that every recording can answer.
  constexpr Answer(bool is_so) : value_(is_so ? kYes : kNo) {}

  /// The answer to the opposite question.
  [[nodiscard]] constexpr Answer operator!() const { return static_cast<Value>(kYes - value_); }
  // NOLINTNEXTLINE(modernize-use-nullptr): the check takes the 0 of a comparison for a pointer.
  friend constexpr auto operator<=>(const Answer&, const Answer&) = default;

 private:
  Value value_;
};

/// Which samples are counted; empty: all of them.
using Keeps = std::function<Answer(const Sample&)>;

/// The answer of a question that may be empty.
[[nodiscard]] inline Answer answer_of(const Keeps& keeps, const Sample& sample) {
  return keeps ? keeps(sample) : Answer::kYes;
}

}  // namespace geiger::profile
