#include "analysis/report/overview/finding.h"

#include <gmock/gmock.h>

#include "analysis/profile/testing/example_recording.h"

namespace geiger::report {
namespace {

using profile::Kind;
using profile::Recording;
using profile::example::RecordingBuilder;
using profile::example::small_server;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

Finding find_kind(const Recording& recording, Kind kind = Kind::kAllocated) {
  return find(recording, select(recording, kind), 0.95);
}

std::vector<std::string> names_of(const Finding& finding) {
  std::vector<std::string> names;
  for (const FoundSite& site : finding.sites) names.push_back(site.function);
  return names;
}

/// A program whose main() calls functions that allocate, on lines of their own.
class Program {
 public:
  explicit Program(Bytes interval = 512 * kKiB) : builder_(interval) {
    process_ = builder_.process("/home/me/app", 1);
    thread_ = builder_.thread(process_, "app", 1);
    module_ = builder_.module("/home/me/app", 0x1000);
    library_ = builder_.module("/usr/lib/libstdc++.so.6", 0x7000);
    main_ = builder_.location(module_, 1, {"main"});
  }

  /// Samples of stacks main > callers... > leaf; the last one is called first.
  void allocate(std::initializer_list<const char*> leaf_first, int samples, Bytes size = 64 * kKiB,
                Nanoseconds freed_ms_later = 0) {
    std::vector<std::uint32_t> locations;
    for (const char* name : leaf_first) locations.push_back(location(name));
    locations.push_back(main_);
    const auto stack = builder_.stack(locations);
    for (int i = 0; i < samples; ++i) {
      const Nanoseconds at = 1 + i, freed = freed_ms_later > 0 ? at + freed_ms_later : 0;
      builder_.sample(thread_, stack, size, at, freed);
    }
  }

  Recording& recording() { return builder_.recording(); }
  RecordingBuilder& builder() { return builder_; }

 private:
  std::uint32_t location(const std::string& name) {
    const bool is_standard = name.starts_with("std::");
    return builder_.location(is_standard ? library_ : module_, ++line_, {name});
  }

  RecordingBuilder builder_;
  std::uint32_t process_, thread_, module_, library_, main_;
  Address line_ = 10;
};

TEST(Finding, NamesTheFunctionAndItsLine) {
  Program program;
  program.allocate({"std::vector<int>::resize", "Store::open(int)"}, 200);
  const Finding finding = find_kind(program.recording());
  EXPECT_EQ(finding.verdict, FindingVerdict::kFound);
  EXPECT_EQ(sentence(finding),
            "Store::open (main.cc:12) allocated 100 % [98, 100] of 106 MiB ± 15.");
}

TEST(Finding, SaysWhen) {
  const Finding finding = find_kind(small_server(), Kind::kLiveAtEnd);
  EXPECT_EQ(clause(finding).substr(0, 25), "at the end make_buffer (m");
  EXPECT_EQ(sentence(finding).substr(0, 25), "At the end make_buffer (m");
}

// main() has all of it, and two thirds pass through nothing else that is proved.
TEST(Finding, GoesAsFarInAsMostOfTheBytesGo) {
  Program program;
  program.allocate({"copy", "parse"}, 60);
  program.allocate({"parse"}, 140);
  EXPECT_THAT(names_of(find_kind(program.recording())), ElementsAre("parse"));
  program.allocate({"copy", "parse"}, 200);
  EXPECT_THAT(names_of(find_kind(program.recording())), ElementsAre("copy"));
}

TEST(Finding, NamesAllThatMayBeTheLargest) {
  Program program;
  program.allocate({"read"}, 100);
  program.allocate({"write"}, 104);
  const Finding finding = find_kind(program.recording());
  EXPECT_THAT(names_of(finding), ElementsAre("write", "read"));
  EXPECT_THAT(sentence(finding), ::testing::EndsWith("; which is the largest is not certain."));
  program.allocate({"write"}, 300);
  EXPECT_THAT(names_of(find_kind(program.recording())), ElementsAre("write"));
}

// Ten functions of one tenth each: what they share is main, which allocates nothing itself.
TEST(Finding, NamesTheCallerOfManySmallOnes) {
  Program program;
  for (const char* name : {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"})
    program.allocate({name, "serve"}, 20);
  EXPECT_THAT(names_of(find_kind(program.recording())), ElementsAre("serve"));
}

// A script's top level: its imports, and a function that keeps what it is given.
TEST(Finding, GoesOnWithThePartsOfAFunctionThatHasNearlyAll) {
  Program program;
  program.allocate({}, 120);
  program.allocate({"remember", "serve"}, 60);
  program.allocate({"answer", "serve"}, 20);
  const Finding finding = find_kind(program.recording());
  EXPECT_THAT(names_of(finding), ElementsAre("main"));
  EXPECT_EQ(sentence(finding),
            "main (main.cc:1) allocated 100 % [98, 100] of 106 MiB ± 15: 60 % ± 7 at main.cc:1, "
            "30 % ± 7 in remember (main.cc:11).");
}

TEST(Finding, NamesNoPartsWhereOneHasNearlyAllAgain) {
  Program program;
  program.allocate({}, 190);
  program.allocate({"remember", "serve"}, 10);
  const Finding finding = find_kind(program.recording());
  EXPECT_THAT(names_of(finding), ElementsAre("main"));
  EXPECT_THAT(finding.sites.at(0).parts, IsEmpty());
}

TEST(Finding, NamesNoPartsWhereOnlyTheFunctionItselfIsOne) {
  Program program;
  program.allocate({}, 170);
  for (const char* name : {"a", "b", "c", "d", "e", "f"}) program.allocate({name}, 5);
  const Finding finding = find_kind(program.recording());
  EXPECT_THAT(names_of(finding), ElementsAre("main"));
  EXPECT_THAT(finding.sites.at(0).parts, IsEmpty());
}

// Parts below a tenth are not named, however many there are.
TEST(Finding, NamesNoSmallParts) {
  Program program;
  for (const char* name : {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"})
    program.allocate({name, "serve"}, 20);
  EXPECT_THAT(find_kind(program.recording()).sites.at(0).parts, IsEmpty());
}

TEST(Finding, SaysThatNothingIsProved) {
  Program program;
  auto& builder = program.builder();
  // Stacks without a common caller.
  const auto module = builder.module("/home/me/libother.so", 0x9000);
  for (int i = 0; i < 10; ++i) {
    const auto location =
        builder.location(module, 100 + static_cast<Address>(i), {"f" + std::to_string(i)});
    const auto stack = builder.stack({location});
    for (int n = 0; n < 10 + i; ++n) builder.sample(0, stack, 64 * kKiB, 1 + n);
  }
  const Finding finding = find_kind(program.recording());
  EXPECT_EQ(finding.verdict, FindingVerdict::kSpread);
  EXPECT_THAT(sentence(finding),
              ::testing::StartsWith(
                  "No single function dominates; the largest, f9 (main.cc:109), allocated "));
  EXPECT_THAT(names_of(finding), ElementsAre("f9"));
}

// A dispatcher with 85 %, 40 of them below one function.
TEST(Finding, NamesTheOwnerInPlaceOfADispatcher) {
  Program program;
  for (int i = 0; i < 40; ++i) {
    const std::string name = "site" + std::to_string(i);
    if (i < 10) program.allocate({name.c_str(), "get", "dispatch"}, 40);
    if (i >= 10) program.allocate({name.c_str(), "dispatch"}, 15);
  }
  program.allocate({"start"}, 150);
  const Finding finding = find_kind(program.recording());
  EXPECT_THAT(names_of(finding), ElementsAre("get"));
  EXPECT_EQ(finding.verdict, FindingVerdict::kFound);
  EXPECT_THAT(
      sentence(finding),
      ::testing::MatchesRegex("get \\(main.cc:.*\\) allocated 40 % ± 3 of .*, in 10 sites\\."));
}

TEST(Finding, NamesNoOwnerWithASmallShare) {
  Program program;
  for (int i = 0; i < 40; ++i) {
    const std::string name = "site" + std::to_string(i);
    if (i < 10) program.allocate({name.c_str(), "get", "dispatch"}, 20);
    if (i >= 10) program.allocate({name.c_str(), "dispatch"}, 15);
  }
  program.allocate({"start"}, 150);
  EXPECT_THAT(names_of(find_kind(program.recording())), ElementsAre("dispatch"));
}

// Of stacks without a common caller.
TEST(Finding, NamesTheOwnerAsTheLargestOfMany) {
  Program program;
  auto& builder = program.builder();
  const auto module = builder.module("/home/me/libother.so", 0x9000);
  const auto get = builder.location(module, 99, {"get"});
  for (int i = 0; i < 40; ++i) {
    const auto at = static_cast<Address>(i);
    const auto site = builder.location(module, 100 + at, {"site" + std::to_string(i)});
    const auto root = builder.location(module, 200 + at, {"root" + std::to_string(i)});
    const auto stack = i < 10 ? builder.stack({site, get, root}) : builder.stack({site, root});
    for (int n = 0; n < (i < 10 ? 22 : 21); ++n) builder.sample(0, stack, 64 * kKiB, 1 + n);
  }
  const Finding finding = find_kind(program.recording());
  EXPECT_EQ(finding.verdict, FindingVerdict::kSpread);
  EXPECT_THAT(names_of(finding), ElementsAre("get"));
  EXPECT_THAT(sentence(finding),
              ::testing::StartsWith(
                  "No single function dominates; the largest, get (main.cc:99), allocated 26 % "));
  EXPECT_THAT(sentence(finding), ::testing::EndsWith(", in 10 sites."));
}

TEST(Finding, NamesNothingFromFewSamples) {
  Program program;
  program.allocate({"read"}, 5);
  const Finding finding = find_kind(program.recording());
  EXPECT_EQ(finding.verdict, FindingVerdict::kTooFew);
  EXPECT_EQ(sentence(finding), "Too few samples to name a function (5 of the 6 needed).");
  EXPECT_THAT(finding.sites, IsEmpty());
  program.allocate({"read"}, 1);
  EXPECT_EQ(find_kind(program.recording()).verdict, FindingVerdict::kFound);
}

TEST(Finding, BytesThatAreKnownExactlyNeedNoNumber) {
  Program program;
  program.allocate({"parse"}, 20, 64 * kKiB);
  program.allocate({"reserve"}, 1, 64 * kMiB);
  const Finding finding = find_kind(program.recording());
  EXPECT_EQ(finding.verdict, FindingVerdict::kFound);
  EXPECT_THAT(names_of(finding), ElementsAre("reserve"));
}

TEST(Finding, OfNothingSaysSo) {
  Program program;
  EXPECT_EQ(sentence(find_kind(program.recording(), Kind::kLiveAtEnd)),
            "At the end nothing was sampled.");
}

TEST(Finding, SaysThatAllBlocksAreEmpty) {
  Program program(1);
  program.allocate({"read"}, 20, 0);
  const Finding finding = find_kind(program.recording());
  EXPECT_EQ(finding.verdict, FindingVerdict::kEmpty);
  EXPECT_EQ(sentence(finding), "Only empty blocks (0 bytes) were allocated.");
  EXPECT_THAT(finding.sites, IsEmpty());
  EXPECT_EQ(sentence(find_kind(program.recording(), Kind::kLiveAtEnd)),
            "At the end only empty blocks (0 bytes) were held.");
}

TEST(Finding, NamesTheProcessWhereThereAreSeveral) {
  Program program;
  program.allocate({"read"}, 50);
  auto& builder = program.builder();
  const auto other = builder.process("/usr/bin/other", 2);
  const auto thread = builder.thread(other, "other", 2);
  const auto module = builder.module("/usr/bin/other", 0xa000);
  const auto stack = builder.stack({builder.location(module, 77, {"fill"})});
  for (int i = 0; i < 200; ++i) builder.sample(thread, stack, 64 * kKiB, 1 + i);
  EXPECT_EQ(site_text(find_kind(program.recording()).sites.at(0)), "fill (main.cc:77) in other");
}

TEST(Finding, OpensOnThePeakUnlessMostOfItStays) {
  Finding allocated, live, peak;
  peak.kind = Kind::kLiveAtPeak;
  live.kind = Kind::kLiveAtEnd;
  peak.verdict = live.verdict = allocated.verdict = FindingVerdict::kFound;
  peak.total.bytes.value = 100;
  live.total.bytes.interval = {50, 90};
  EXPECT_EQ(opening(allocated, live, &peak).kind, Kind::kLiveAtPeak);
  live.total.bytes.interval.lo = 51;
  EXPECT_EQ(opening(allocated, live, &peak).kind, Kind::kLiveAtEnd);
  live.verdict = FindingVerdict::kTooFew;
  peak.verdict = FindingVerdict::kTooFew;
  EXPECT_EQ(opening(allocated, live, &peak).kind, Kind::kAllocated);
  EXPECT_EQ(opening(allocated, live, nullptr).kind, Kind::kAllocated);
}

Opening opening_of(const Recording& recording) {
  return find_opening(NamedRecording(recording), select(recording, Kind::kAllocated),
                      select(recording, Kind::kLiveAtEnd), select(recording, Kind::kLiveAtPeak),
                      true, 0.95);
}

TEST(Opening, IsWhatWasAllocatedWhereNoFunctionDominatesTheHeap) {
  Program program;
  for (const char* name : {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"})
    program.allocate({name}, 20);
  program.allocate({"join"}, 1000, 64 * kKiB, 1);
  const Opening found = opening_of(program.recording());
  EXPECT_THAT(sentence(found.finding), ::testing::StartsWith("join (main.cc:21) allocated "));
  EXPECT_THAT(sentence(found.finding), ::testing::EndsWith(" of it was freed within 1 ms."));
  ASSERT_TRUE(found.beside);
  EXPECT_THAT(sentence(*found.beside), ::testing::StartsWith("At the end main "));
}

// 1.2 MiB live, of 400 MiB.
TEST(Opening, IsWhatWasAllocatedOfAProgramThatMostlyAllocatesAndFrees) {
  Program program(16 * kKiB);
  program.allocate({"keep"}, 40, 4 * kKiB);
  program.allocate({"join"}, 25'000, 4 * kKiB, 1);
  const Opening found = opening_of(program.recording());
  EXPECT_THAT(names_of(found.finding), ElementsAre("join"));
  ASSERT_TRUE(found.beside);
  EXPECT_THAT(names_of(*found.beside), ElementsAre("keep"));
}

// 110 MiB live, of 2 GiB.
TEST(Opening, HasAHeapThatMattersFirst) {
  Program program;
  program.allocate({"keep"}, 200);
  program.allocate({"join"}, 3'800, 64 * kKiB, 20);
  const Opening found = opening_of(program.recording());
  EXPECT_THAT(names_of(found.finding), ElementsAre("keep"));
  ASSERT_TRUE(found.beside);
  EXPECT_THAT(sentence(*found.beside), ::testing::EndsWith(" of it was freed within 100 ms."));
}

TEST(Opening, SaysNothingBesideAHeapThatIsMostOfWhatWasAllocated) {
  Program program;
  program.allocate({"keep"}, 200);
  program.allocate({"join"}, 800, 64 * kKiB, 1);
  EXPECT_FALSE(opening_of(program.recording()).beside);
}

}  // namespace
}  // namespace geiger::report
