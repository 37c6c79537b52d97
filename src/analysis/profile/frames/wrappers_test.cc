#include "analysis/profile/frames/wrappers.h"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "analysis/profile/frames/frame_roles.h"
#include "analysis/profile/testing/test_recording.h"

namespace geiger::profile::wrappers_test {
namespace {

class Wrappers : public testing::Test {
 protected:
  /// Samples of one size below the functions, leaf first: "my_malloc:12" is line 12 of it.
  void calls(const std::vector<std::string>& path, Bytes size, int samples = 2) {
    calls_in(test_, path, size, samples);
  }

  static void calls_in(TestRecording& test, const std::vector<std::string>& path, Bytes size,
                       int samples) {
    std::vector<std::uint32_t> locations;
    for (const std::string& one : path) {
      const std::size_t colon = one.rfind(':');
      locations.push_back(test.location({one.substr(0, colon)}));
      Frame& frame = test.recording.frames.back();
      frame.line = static_cast<std::uint32_t>(std::stoul(one.substr(colon + 1)));
    }
    const std::uint32_t stack = test.stack(locations);
    for (int i = 0; i < samples; ++i) test.sample(stack, size);
  }

  /// The function to blame of a stack.
  std::string blamed(std::uint32_t stack) {
    find_wrappers(std::array{&test_.recording});
    return blamed_in(test_.recording, stack);
  }

  static std::string blamed_in(const Recording& recording, std::uint32_t stack) {
    const Labels labels(recording);
    std::vector<std::uint32_t> path;
    labels.collect(recording, stack, path);
    return labels[path[FrameRoles(recording, labels).blamed(path)]].name;
  }

  void read_by(std::string_view rules) {
    test_.recording.frame_rules =
        std::make_shared<const FrameRules>(FrameRules::parse(rules).value());
  }

  /// A function that four others call, each for an object of its own size.
  void calls_of_wrapper(const std::string& name = "get_memory") {
    for (int i = 0; i < 4; ++i) {
      calls({name + ":7", "make_" + std::to_string(i) + ":1", "main:1"}, 100 + Bytes(i));
    }
  }

  TestRecording test_{1};
};

TEST_F(Wrappers, AllocateWhatTheirCallersAskFor) {
  calls_of_wrapper();
  EXPECT_EQ(blamed(0), "make_0");
}

TEST_F(Wrappers, MayBeAllocationFunctionsBehindASystemLibrary) {
  for (int i = 0; i < 4; ++i) {
    calls(
        {"malloc:1", "get_memory:" + std::to_string(7 + i % 2), "make_" + std::to_string(i) + ":1"},
        100 + Bytes(i));
  }
  EXPECT_EQ(blamed(3), "make_3");
}

/// make_node() does nothing but allocate either, but what it makes is its own affair.
TEST_F(Wrappers, AreNoFunctionsThatMakeOneType) {
  for (int i = 0; i < 40; ++i) calls({"make_node:7", "use_" + std::to_string(i) + ":1"}, 48);
  EXPECT_EQ(blamed(0), "make_node");
}

/// read_file(): sizes depend on the data, not on the caller.
TEST_F(Wrappers, AreNoFunctionsThatDecideOnSizesThemselves) {
  for (int i = 0; i < 40; ++i) {
    const std::string caller = "use_" + std::to_string(i % 5) + ":1";
    calls({"read_file:7", caller}, 1000 + 17 * Bytes(i), 1);
  }
  EXPECT_EQ(blamed(0), "read_file");
}

TEST_F(Wrappers, HaveNoOtherWork) {
  calls_of_wrapper();
  calls({"parse:3", "get_memory:9", "make_0:1"}, 100, 1);
  EXPECT_EQ(blamed(0), "get_memory") << "1 sample of 9";
}

TEST_F(Wrappers, AllocateAtOneOrTwoPlaces) {
  calls_of_wrapper();
  calls({"get_memory:8", "make_0:1", "main:1"}, 100);
  EXPECT_EQ(blamed(0), "make_0");
  calls({"get_memory:9", "make_0:1", "main:1"}, 100);
  EXPECT_EQ(blamed(0), "get_memory");
}

TEST_F(Wrappers, HaveManyCallers) {
  for (int i = 0; i < 3; ++i)
    calls({"get_memory:7", "make_" + std::to_string(i) + ":1"}, Bytes(100 + i));
  EXPECT_EQ(blamed(0), "get_memory");
}

TEST_F(Wrappers, OfASampleAtEachPlaceAreNotKnown) {
  for (int i = 0; i < 9; ++i) {
    calls({"get_memory:7", "make_" + std::to_string(i) + ":1"}, Bytes(100 + i), 1);
  }
  EXPECT_EQ(blamed(0), "get_memory");
}

/// The slow path of an arena has one size of blocks; its name says what it is.
TEST_F(Wrappers, WithANameThatSaysItNeedLess) {
  for (int i = 0; i < 3; ++i) calls({"arena_grow:7", "make_" + std::to_string(i) + ":1"}, 4096, 1);
  for (int i = 0; i < 3; ++i) calls({"area_grow:7", "make_" + std::to_string(i) + ":1"}, 4096, 1);
  EXPECT_EQ(blamed(0), "make_0");
  EXPECT_EQ(blamed(3), "area_grow");
}

TEST_F(Wrappers, OfWrappersAndTheirPartsWrapToo) {
  for (int i = 0; i < 4; ++i) {
    calls({"block:5", "get_memory:7", "get_zeroed:2", "make_" + std::to_string(i) + ":1"},
          100 + Bytes(i));
    calls({"block:5", "get_memory:7", "make_" + std::to_string(i) + ":2"}, 200 + Bytes(i));
  }
  EXPECT_EQ(blamed(0), "make_0");
  EXPECT_EQ(blamed(1), "make_0");
}

TEST_F(Wrappers, EndWhereWorkBegins) {
  calls_of_wrapper();
  for (int i = 0; i < 6; ++i) {
    calls({"get_memory:7", "make_table:1", "use_" + std::to_string(i) + ":1"}, 64);
  }
  EXPECT_EQ(blamed(4), "make_table") << "of one size";
}

TEST_F(Wrappers, AreFoundOfInlinedFramesToo) {
  for (int i = 0; i < 4; ++i) {
    const std::string name = "make_" + std::to_string(i);
    const std::uint32_t location = test_.location({"get_memory", name});
    test_.recording.frames[test_.recording.locations[location].frames[0]].line = 7;
    test_.recording.frames[test_.recording.locations[location].frames[1]].line = 1;
    const std::uint32_t stack = test_.stack({location});
    for (int k = 0; k < 2; ++k) test_.sample(stack, 100 + Bytes(i));
  }
  EXPECT_EQ(blamed(0), "make_0");
}

/// Static functions of a stripped library are addresses.
TEST_F(Wrappers, MayCallAFunctionWithoutAName) {
  const std::uint32_t part = test_.location({});
  for (int i = 0; i < 4; ++i) {
    const std::uint32_t wrapper = test_.location({"get_memory"});
    test_.recording.frames.back().line = 7;
    const std::uint32_t maker = test_.location({"make_" + std::to_string(i)});
    const std::uint32_t stack = test_.stack({part, wrapper, maker});
    for (int k = 0; k < 2; ++k) test_.sample(stack, 100 + Bytes(i));
  }
  EXPECT_EQ(blamed(0), "make_0");
}

/// They may all be of one function.
TEST_F(Wrappers, CalledByFunctionsWithoutNamesAreNotKnown) {
  for (int i = 0; i < 6; ++i) {
    const std::uint32_t wrapper = test_.location({"get_memory"});
    test_.recording.frames.back().line = 7;
    const std::uint32_t stack =
        test_.stack({wrapper, test_.location({}), test_.location({"main"})});
    for (int k = 0; k < 2; ++k) test_.sample(stack, 100 + Bytes(i));
  }
  EXPECT_EQ(blamed(0), "get_memory");
}

TEST_F(Wrappers, AreNotLookedForWhereRulesSaySo) {
  calls_of_wrapper();
  for (const char* rules : {"wrappers named", "own function=get_memory"}) {
    read_by(rules);
    EXPECT_EQ(blamed(0), "get_memory") << rules;
  }
  read_by("wrappers named\nwrapper function=get_memory");
  EXPECT_EQ(blamed(0), "make_0");
  read_by("");
  EXPECT_EQ(blamed(0), "make_0");
}

TEST_F(Wrappers, OfTwoRecordingsAreTheSame) {
  TestRecording other(1);
  for (int i = 0; i < 2; ++i) {
    calls({"get_memory:7", "make_" + std::to_string(i) + ":1"}, 100 + Bytes(i));
    calls_in(other, {"get_memory:7", "take_" + std::to_string(i) + ":1"}, 200 + Bytes(i), 2);
  }
  EXPECT_EQ(blamed(0), "get_memory") << "alone";
  find_wrappers(std::array{&test_.recording, &other.recording});
  EXPECT_EQ(blamed_in(test_.recording, 0), "make_0");
  EXPECT_EQ(blamed_in(other.recording, 1), "take_1");
}

}  // namespace
}  // namespace geiger::profile::wrappers_test
