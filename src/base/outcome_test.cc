#include "base/outcome.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace geiger::base {
namespace {

Outcome<int> halved(int number) {
  if (number % 2 != 0) return Failure{std::to_string(number) + " is odd", Fault::kUsage};
  return number / 2;
}

Outcome<std::string> as_text(int number) {
  const int half = GEIGER_TRY(halved(number));
  return std::to_string(half);
}

Outcome<void> check(int number) {
  GEIGER_TRY(halved(number));
  return {};
}

TEST(Outcome, HasAValueOrAReason) {
  EXPECT_TRUE(halved(4).has_value());
  EXPECT_EQ(halved(4).value(), 2);
  EXPECT_EQ(halved(4).reason(), "");
  EXPECT_EQ(as_text(8)->size(), 1U);
  EXPECT_FALSE(halved(5).has_value());
  EXPECT_EQ(halved(5).reason(), "5 is odd");
}

Outcome<std::unique_ptr<int>> checked_half(int number) {
  GEIGER_TRY(check(number));
  std::unique_ptr<int> half;
  half = GEIGER_TRY(Outcome<std::unique_ptr<int>>(std::make_unique<int>(number / 2)));
  return half;
}

TEST(Outcome, PassesFailuresOnToOtherTypes) {
  EXPECT_EQ(as_text(8).value(), "4");
  EXPECT_EQ(as_text(7).reason(), "7 is odd");
  EXPECT_EQ(as_text(7).failure().fault, Fault::kUsage);
  EXPECT_EQ(Outcome<int>(Failure{"gone"}).failure().fault, Fault::kInput);
}

TEST(Outcome, OfNothingIsDoneOrFailed) {
  EXPECT_TRUE(check(2).has_value());
  EXPECT_EQ(check(2).reason(), "");
  EXPECT_FALSE(check(3).has_value());
  EXPECT_EQ(check(3).failure().fault, Fault::kUsage);
  EXPECT_EQ(Outcome<void>(check(3)).reason(), "3 is odd");
}

TEST(Outcome, DistinguishesAnEmptyTextFromAFailure) {
  EXPECT_TRUE(Outcome<std::string>(std::string()).has_value());
  EXPECT_FALSE(Outcome<std::string>(Failure{""}).has_value());
  EXPECT_FALSE(Outcome<void>(Failure{""}).has_value());
}

TEST(Outcome, HandsOutWhatCannotBeCopied) {
  EXPECT_EQ(*checked_half(8).value(), 4);
  EXPECT_EQ(checked_half(7).reason(), "7 is odd");
  Outcome<std::unique_ptr<int>> made(std::make_unique<int>(3));
  const std::unique_ptr<int> taken = std::move(made.value());
  EXPECT_EQ(*taken, 3);
}

}  // namespace
}  // namespace geiger::base
