#include "analysis/profile/frames/stack_answers.h"

#include <gtest/gtest.h>

#include "analysis/profile/testing/test_recording.h"

namespace geiger::profile::stack_answers_test {
namespace {

/// The answers of all stacks about functions of this name.
struct Asked {
  std::vector<Answer> answers;
  StackDoubts doubts;

  Asked(const TestRecording& test, std::string_view name) {
    const Labels labels(test.recording);
    std::vector<bool> is_named;
    for (std::uint32_t i = 0; i < labels.size(); ++i) is_named.push_back(labels[i].name == name);
    answers = stacks_through(test.recording, labels, {is_named}, doubts);
  }
};

TEST(Answers, AndIsTheLeastAndOrTheGreatest) {
  EXPECT_EQ(std::min<Answer>(Answer::kNo, Answer::kOpen), Answer::kNo);
  EXPECT_EQ(std::min<Answer>(Answer::kYes, Answer::kOpen), Answer::kOpen);
  EXPECT_EQ(std::max<Answer>(Answer::kNo, Answer::kOpen), Answer::kOpen);
  EXPECT_EQ(!Answer(Answer::kOpen), Answer::kOpen);
  EXPECT_EQ(!Answer(true), Answer::kNo);
}

TEST(StackAnswers, OfStacksThatWereCut) {
  TestRecording test;
  const auto main = test.location({"main"});
  const auto leaf = test.location({"leaf"});
  test.stack({leaf, main});
  test.stack({leaf}, true);
  test.stack({main}, true);
  test.stack({});
  test.stack({test.location({std::string(kUntoldStacks)})});
  const Asked asked(test, "main");
  EXPECT_EQ(asked.answers, (std::vector<Answer>{Answer::kYes, Answer::kOpen, Answer::kYes,
                                                Answer::kOpen, Answer::kOpen}));
  EXPECT_TRUE(asked.doubts.cut);
  EXPECT_FALSE(asked.doubts.unnamed);
  EXPECT_FALSE(is_whole(test.recording, kNone));
}

TEST(StackAnswers, OfFramesWithoutAName) {
  TestRecording test;
  test.recording.modules.push_back({"/usr/lib/x86_64-linux-gnu/libc.so.6", "", 0, 0, 0});
  test.recording.modules.push_back({"/opt/libother.so", "", 0, 0, 0});
  const auto named = test.location({"work"});
  const auto in_program = test.location({});
  const auto bounded = test.location({"target+0x120"});  // Where it begins is known.
  const auto in_libc = test.location({});
  const auto in_other = test.location({});
  test.recording.locations[in_libc].module = 1;
  test.recording.locations[in_other].module = 2;
  test.stack({named});
  for (const std::uint32_t unnamed : {in_program, in_libc, in_other, bounded})
    test.stack({unnamed});
  const Asked known(test, "work");
  EXPECT_EQ(known.answers, (std::vector<Answer>{Answer::kYes, Answer::kOpen, Answer::kNo,
                                                Answer::kNo, Answer::kOpen}))
      << "a function of that name is in another module";
  EXPECT_TRUE(known.doubts.unnamed);
  const Asked unknown(test, "nothing of this name");
  EXPECT_EQ(unknown.answers, (std::vector<Answer>{Answer::kNo, Answer::kOpen, Answer::kNo,
                                                  Answer::kOpen, Answer::kOpen}));
}

}  // namespace
}  // namespace geiger::profile::stack_answers_test
