#include "analysis/content/python_text.h"

#include <gtest/gtest.h>

namespace geiger::content {
namespace {

constexpr std::uint32_t k311 = 0x030b02f0, k312 = 0x030c00f0;
constexpr std::uint64_t kType = 0x955cc0;

/// State of a str: interned in bits 0 and 1, width from bit 2 on, compact, ASCII, and what follows.
constexpr std::uint64_t state(std::uint64_t width, bool is_ascii, std::uint64_t interned = 0) {
  return interned | width << 2 | 0x20 | (is_ascii ? 0x40 : 0) | 0x80;
}

TEST(PythonText, ReferencesHashAndInterningDoNotMatter) {
  const auto a = text_of(TextType::kStr, {1, kType, 5, 77, state(1, true)}, k311);
  const auto b = text_of(TextType::kStr, {0xffffffff, kType, 5, ~0ULL, state(1, true, 1)}, k311);
  ASSERT_TRUE(a && b);
  EXPECT_EQ(a->face, b->face);
  EXPECT_EQ(a->bytes, 5U);
  EXPECT_EQ(a->before, 48U);
}

TEST(PythonText, LengthWidthAndTypeDo) {
  const auto face = [](TextType type, const TextHead& head) {
    return text_of(type, head, k311)->face;
  };
  const Face a = face(TextType::kStr, {1, kType, 5, 0, state(1, true)});
  EXPECT_NE(a, face(TextType::kStr, {1, kType, 6, 0, state(1, true)}));
  EXPECT_NE(a, face(TextType::kStr, {1, kType, 5, 0, state(1, false)}));
  EXPECT_NE(a, face(TextType::kStr, {1, kType, 5, 0, state(2, false)}));
  EXPECT_NE(a, face(TextType::kBytes, {1, kType, 5, 0, 0}));
}

TEST(PythonText, PayloadsLieWhereTheVersionPutsThem) {
  EXPECT_EQ(text_of(TextType::kStr, {1, kType, 5, 0, state(2, false)}, k311)->before, 72U);
  EXPECT_EQ(text_of(TextType::kStr, {1, kType, 5, 0, state(2, false)}, k311)->bytes, 10U);
  EXPECT_EQ(text_of(TextType::kStr, {1, kType, 5, 0, state(1, true)}, k312)->before, 40U);
  EXPECT_EQ(text_of(TextType::kStr, {1, kType, 5, 0, state(4, false)}, k312)->before, 56U);
  EXPECT_EQ(text_of(TextType::kBytes, {1, kType, 5, 0, 0}, k312)->before, 32U);
}

TEST(PythonText, FreedOnesAndOthersAreNone) {
  EXPECT_FALSE(text_of(TextType::kStr, {0, kType, 5, 0, state(1, true)}, k311));
  EXPECT_FALSE(text_of(TextType::kStr, {0x7f1122334450, kType, 5, 0, state(1, true)}, k311));
  EXPECT_FALSE(text_of(TextType::kStr, {1, kType, ~0ULL, 0, state(1, true)}, k311));
  EXPECT_FALSE(text_of(TextType::kStr, {1, kType, 5, 0, 1U << 2}, k311)) << "not compact";
  EXPECT_FALSE(text_of(TextType::kStr, {1, kType, 5, 0, state(3, true)}, k311));
}

}  // namespace
}  // namespace geiger::content
