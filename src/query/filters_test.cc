// What filters select, and what they cannot decide.
#include "query/filters.h"

#include <gmock/gmock.h>

#include "analysis/profile/testing/test_recording.h"

namespace geiger::query::filters_test {
namespace {

using profile::Answer;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// A stack that is whole, one that was cut, and a sample of each; a third one has no stack.
struct Filters : ::testing::Test {
  profile::TestRecording test;
  Remarks remarks;

  Filters() {
    const auto main = test.location({"main"});
    const auto work = test.location({"work"});
    test.sample(test.stack({work, main}), 16);
    test.sample(test.stack({work}, true), 16);
    test.sample(profile::kNone, 16);
  }

  using Given = std::pair<std::string SelectionOptions::*, const char*>;

  std::vector<Answer> answers(std::initializer_list<Given> given) {
    SelectionOptions options;
    for (const auto& [option, text] : given) options.*option = text;
    remarks = {};
    const auto keeps = filter_of(options, test.recording, remarks).value();
    std::vector<Answer> all;
    for (const profile::Sample& sample : test.recording.samples) all.push_back(keeps(sample));
    return all;
  }
};

TEST_F(Filters, OfFunctionsCannotTellOfStacksThatWereCut) {
  EXPECT_THAT(answers({{&SelectionOptions::function, "main"}}),
              ElementsAre(Answer::kYes, Answer::kOpen, Answer::kOpen));
  EXPECT_THAT(remarks.open, ElementsAre("stacks that were cut"));
  EXPECT_THAT(answers({{&SelectionOptions::function, "work"}}),
              ElementsAre(Answer::kYes, Answer::kYes, Answer::kOpen));
  EXPECT_THAT(answers({{&SelectionOptions::function, "gone"}}),
              ElementsAre(Answer::kNo, Answer::kOpen, Answer::kOpen));
  EXPECT_THAT(remarks.said, ElementsAre("no function 'gone' was seen"));
}

TEST_F(Filters, IgnoreIsTheOppositeOfFocus) {
  EXPECT_THAT(answers({{&SelectionOptions::focus, "main"}}),
              ElementsAre(Answer::kYes, Answer::kOpen, Answer::kOpen));
  EXPECT_THAT(answers({{&SelectionOptions::ignore, "main"}}),
              ElementsAre(Answer::kNo, Answer::kOpen, Answer::kOpen));
  EXPECT_THAT(answers({{&SelectionOptions::focus, "work"}, {&SelectionOptions::ignore, "main"}}),
              ElementsAre(Answer::kNo, Answer::kOpen, Answer::kOpen));
  EXPECT_THAT(answers({{&SelectionOptions::size, "1..8"}, {&SelectionOptions::focus, "main"}}),
              ElementsAre(Answer::kNo, Answer::kNo, Answer::kNo));
}

TEST_F(Filters, AdviseMoreFramesWhereTheirLimitCutStacks) {
  test.recording.stacks[1].locations.resize(255, test.recording.stacks[1].locations[0]);
  answers({{&SelectionOptions::function, "main"}});
  EXPECT_THAT(remarks.open, ElementsAre("stacks that were cut (record with --max-frames 262144)"));
}

TEST_F(Filters, OfFilesCannotTellOfFunctionsWithoutLines) {
  test.recording.frames[0].file = "main.cc";
  const auto lost = test.location({"stripped"});
  test.sample(test.stack({lost}), 16);
  test.recording.modules.push_back({"/lib/other.so", "cd", 0x10000, 0x11000, 0});
  test.sample(test.stack({test.location({"elsewhere"}, 1)}), 16);
  EXPECT_THAT(answers({{&SelectionOptions::focus, "^main.cc$"}}),
              ElementsAre(Answer::kYes, Answer::kOpen, Answer::kOpen, Answer::kOpen, Answer::kNo));
  EXPECT_THAT(remarks.open, ElementsAre(HasSubstr("cut"), HasSubstr("without a file")));
  EXPECT_THAT(answers({{&SelectionOptions::focus, "^elsewhere$"}}),
              ElementsAre(Answer::kNo, Answer::kOpen, Answer::kOpen, Answer::kNo, Answer::kYes));
}

TEST_F(Filters, OfLabelsCannotTellOfLostOnes) {
  test.recording.labels = {{"request"}, {"[lost label]", profile::kNone, true}, {"query", 1}};
  for (std::uint32_t i = 0; i < 3; ++i) test.recording.samples[i].label = i;
  EXPECT_THAT(answers({{&SelectionOptions::label, "request"}}),
              ElementsAre(Answer::kYes, Answer::kOpen, Answer::kOpen));
  EXPECT_THAT(remarks.open, ElementsAre(HasSubstr("label is lost")));
  EXPECT_THAT(answers({{&SelectionOptions::label, "query"}}),
              ElementsAre(Answer::kNo, Answer::kOpen, Answer::kYes));
  EXPECT_THAT(answers({{&SelectionOptions::label, "*"}}),
              ElementsAre(Answer::kYes, Answer::kYes, Answer::kYes));
}

TEST_F(Filters, OfTypesCannotTellOfObjectsWithoutOne) {
  test.recording.types = {{"Baz"}, {"Foo"}};
  test.recording.samples[0].type = 0;
  test.recording.samples[1].type = 1;
  EXPECT_THAT(answers({{&SelectionOptions::type, "Baz"}}),
              ElementsAre(Answer::kYes, Answer::kNo, Answer::kOpen));
  EXPECT_THAT(remarks.open, ElementsAre(HasSubstr("type")));
  EXPECT_THAT(answers({{&SelectionOptions::type, "*unknown*"}}),
              ElementsAre(Answer::kNo, Answer::kNo, Answer::kYes));
  EXPECT_THAT(remarks.open, IsEmpty());
}

TEST_F(Filters, OfThreadsCannotTellUnderWhichNameOneAllocated) {
  test.recording.threads.resize(3);
  test.recording.threads[0].name = "io-1";
  test.recording.threads[1].name = "io-2";
  test.recording.threads[1].earlier_name = "program";
  test.recording.threads[1].tid = 7;
  test.recording.threads[2].name = "other";
  for (std::uint32_t i = 0; i < 3; ++i) test.recording.samples[i].thread = i;
  EXPECT_THAT(answers({{&SelectionOptions::thread, "io-*"}}),
              ElementsAre(Answer::kYes, Answer::kOpen, Answer::kNo));
  EXPECT_THAT(remarks.open, ElementsAre(HasSubstr("changed their name")));
  EXPECT_THAT(answers({{&SelectionOptions::thread, "program"}}),
              ElementsAre(Answer::kNo, Answer::kOpen, Answer::kNo));
  EXPECT_THAT(remarks.said, IsEmpty());
  EXPECT_THAT(answers({{&SelectionOptions::thread, "7"}}),
              ElementsAre(Answer::kNo, Answer::kYes, Answer::kNo));
  EXPECT_THAT(answers({{&SelectionOptions::thread, "*o*"}}),
              ElementsAre(Answer::kYes, Answer::kYes, Answer::kYes));
}

}  // namespace
}  // namespace geiger::query::filters_test
