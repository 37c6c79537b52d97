// Every enumerator has words of its own, and nothing else has any. The compiler is asked which
// values are enumerators, so that one added without words is found.
#include "vocabulary/vocabulary.h"

#include <gtest/gtest.h>

#include <array>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace geiger::vocabulary {
namespace {

constexpr std::size_t kLargestTried = 64;

/// The compiler spells an enumerator by its name and any other value as a cast.
template <auto kValue>
constexpr bool is_enumerator() {
  constexpr std::string_view kSpelled = __PRETTY_FUNCTION__;
  constexpr std::string_view kFrom = "kValue = ";
  return kSpelled[kSpelled.find(kFrom) + kFrom.size()] != '(';
}

template <typename Enum, std::size_t... kValues>
constexpr std::array<bool, kLargestTried> enumerators_of(std::index_sequence<kValues...>) {
  return {is_enumerator<static_cast<Enum>(kValues)>()...};
}

template <typename Enum>
void expect_words(std::size_t enumerators, std::size_t without, auto text_of) {
  const auto is_known = enumerators_of<Enum>(std::make_index_sequence<kLargestTried>());
  std::set<std::string_view> texts;
  std::size_t known = 0;
  for (std::size_t i = 0; i < kLargestTried; ++i) {
    const std::string_view text = text_of(static_cast<Enum>(i));
    known += is_known[i] ? 1 : 0;
    if (i == without) {
      EXPECT_EQ(text, "");
      continue;
    }
    EXPECT_EQ(!text.empty(), is_known[i]) << i;
    const bool is_new = text.empty() || texts.insert(text).second;
    EXPECT_TRUE(is_new) << text;
  }
  EXPECT_EQ(known, enumerators);  // The compiler's spelling is understood.
}

TEST(Vocabulary, NamesEveryEntryPoint) {
  expect_words<EntryPoint>(20, kLargestTried, [](EntryPoint point) { return name_of(point); });
  EXPECT_EQ(name_of(EntryPoint::kReported), "custom heap");
  EXPECT_EQ(name_of(static_cast<EntryPoint>(200)), "");
}

TEST(Vocabulary, KnowsTheOperatorsNew) {
  for (std::size_t i = 0; i < kLargestTried; ++i) {
    const auto point = static_cast<EntryPoint>(i);
    EXPECT_EQ(is_new(point), name_of(point).starts_with("operator new")) << i;
    EXPECT_EQ(is_array_new(point), name_of(point).starts_with("operator new[]")) << i;
  }
}

TEST(Vocabulary, HasWordsForEveryDropCause) {
  expect_words<DropCause>(5, kLargestTried, [](DropCause cause) { return words_of(cause).key; });
  expect_words<DropCause>(5, kLargestTried, [](DropCause cause) { return words_of(cause).text; });
}

TEST(Vocabulary, HasWordsForEveryStopReason) {
  expect_words<StopReason>(6, 0, [](StopReason reason) { return words_of(reason).key; });
  expect_words<StopReason>(6, 0, [](StopReason reason) { return words_of(reason).text; });
}

TEST(Vocabulary, HasWordsForFaults) {
  expect_words<FaultKind>(6, kLargestTried, [](FaultKind kind) { return words_of(kind).key; });
  expect_words<FaultKind>(6, kLargestTried, [](FaultKind kind) { return words_of(kind).text; });
  expect_words<Access>(5, kLargestTried, [](Access access) { return words_of(access).key; });
  expect_words<Access>(5, kLargestTried, [](Access access) { return words_of(access).text; });
}

TEST(Vocabulary, HasWordsForEveryObstacleOfGuardMode) {
  expect_words<GuardObstacle>(6, 0, [](GuardObstacle obstacle) { return words_of(obstacle).key; });
  expect_words<GuardObstacle>(6, 0, [](GuardObstacle obstacle) { return words_of(obstacle).text; });
}

TEST(Vocabulary, HasWordsForWhatIsRecordedOfAnInterpreter) {
  const auto frames_key = [](InterpretedFrames frames) { return words_of(frames).key; };
  const auto frames_text = [](InterpretedFrames frames) { return words_of(frames).text; };
  expect_words<InterpretedFrames>(5, kLargestTried, frames_key);
  expect_words<InterpretedFrames>(5, kLargestTried, frames_text);
  const auto objects_key = [](SmallObjects objects) { return words_of(objects).key; };
  const auto objects_text = [](SmallObjects objects) { return words_of(objects).text; };
  expect_words<SmallObjects>(5, kLargestTried, objects_key);
  expect_words<SmallObjects>(5, kLargestTried, objects_text);
}

}  // namespace
}  // namespace geiger::vocabulary
