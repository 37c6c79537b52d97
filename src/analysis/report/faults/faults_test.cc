// The faults report: sentences with functions and lines, the stacks below, and what was guarded.
#include "analysis/report/faults/faults.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "analysis/profile/testing/test_recording.h"

namespace geiger::report {
namespace {

using profile::Fault;
using vocabulary::Access;
using vocabulary::FaultKind;

/// A guarded process with a function each that uses, frees and allocates.
struct Guarded : profile::TestRecording {
  Guarded() {
    recording.processes[0].guarding = {
        .rate = 16, .is_on = true, .chosen = 10, .large = 2, .full = 1};
    for (int i = 0; i < 20; ++i) sample(allocates, 48);
    recording.threads.emplace_back().tid = 7;
  }

  std::uint32_t at(const std::string& function, std::uint32_t line) {
    const std::uint32_t place = location({function});
    profile::Frame& frame = recording.frames[recording.locations[place].frames[0]];
    frame.file = "/src/app.cc";
    frame.line = line;
    return place;
  }

  Fault& fault(FaultKind kind, Access access, std::int64_t offset) {
    Fault fault;
    fault.kind = kind;
    fault.access = access;
    fault.thread = 0;
    fault.stack = uses;
    fault.time = 9000;
    fault.object = 0x7000;
    fault.address = fault.object + static_cast<Address>(offset);
    fault.bytes = 48;
    fault.allocated = {2000, 7, allocates};
    recording.faults.push_back(fault);
    return recording.faults.back();
  }

  std::string sentence() { return faults_report(recording, {}).lines.at(0).sentence; }

  std::uint32_t main = at("main", 9);
  std::uint32_t uses = stack({at("use", 3), main});
  std::uint32_t frees = stack({at("drop", 4), main});
  std::uint32_t allocates = stack({at("make", 5), main});
};

TEST(Faults, SaysWhoUsedWhatWasFreed) {
  Guarded guarded;
  Fault& fault = guarded.fault(FaultKind::kUseAfterFree, Access::kRead, 8);
  fault.freed = {8000, 7, guarded.frees};
  EXPECT_EQ(guarded.sentence(),
            "use after free: use (app.cc:3) reads offset 8 of an object of 48 bytes that "
            "drop (app.cc:4) freed");
}

TEST(Faults, SaysWhereAnObjectIsOverrun) {
  Guarded guarded;
  guarded.fault(FaultKind::kOverflow, Access::kWrite, 48);
  EXPECT_EQ(guarded.sentence(),
            "buffer overflow: use (app.cc:3) writes offset 48 of an object of 48 bytes that "
            "make (app.cc:5) allocated");
  guarded.recording.faults.clear();
  guarded.fault(FaultKind::kUnderflow, Access::kUnknown, -1);
  EXPECT_EQ(guarded.sentence(),
            "buffer underflow: use (app.cc:3) accesses offset -1 of an object of 48 bytes that "
            "make (app.cc:5) allocated");
}

TEST(Faults, SaysThatAWriteWasFoundLater) {
  Guarded guarded;
  guarded.fault(FaultKind::kOverflow, Access::kEarlierWrite, 50).stack = guarded.frees;
  EXPECT_EQ(guarded.sentence(),
            "buffer overflow: offset 50 of an object of 48 bytes that make (app.cc:5) allocated "
            "was written to, some time before drop (app.cc:4) freed it");
}

TEST(Faults, SaysWhatIsFreedWrongly) {
  Guarded guarded;
  Fault& twice = guarded.fault(FaultKind::kDoubleFree, Access::kFree, 0);
  twice.freed = {8000, 8, guarded.frees};
  EXPECT_EQ(guarded.sentence(),
            "double free: use (app.cc:3) frees an object of 48 bytes that drop (app.cc:4) freed");
  guarded.recording.faults.clear();
  guarded.fault(FaultKind::kInvalidFree, Access::kFree, 16);
  EXPECT_EQ(guarded.sentence(),
            "invalid free: use (app.cc:3) frees offset 16 of an object of 48 bytes that "
            "make (app.cc:5) allocated");
  guarded.recording.faults.clear();
  Fault& unknown = guarded.fault(FaultKind::kInvalidFree, Access::kFree, 0);
  unknown.object = 0;
  unknown.allocated = {};
  EXPECT_EQ(guarded.sentence(), "invalid free: use (app.cc:3) frees 0x7000");
}

TEST(Faults, StacksThatWereNotRecordedAreSaid) {
  Guarded guarded;
  guarded.fault(FaultKind::kOverflow, Access::kRead, 48).stack = profile::kNone;
  EXPECT_EQ(guarded.sentence().find("buffer overflow: an unknown function reads"), 0U);
  const auto report = faults_report(guarded.recording, {});
  EXPECT_NE(to_text(report, guarded.recording, {}).find("no stack was recorded"),
            std::string::npos);
}

TEST(Faults, OnesAlikeAreOneLine) {
  Guarded guarded;
  for (int i = 0; i < 3; ++i) guarded.fault(FaultKind::kOverflow, Access::kEarlierWrite, 48);
  guarded.fault(FaultKind::kUnderflow, Access::kEarlierWrite, -1);
  const auto report = faults_report(guarded.recording, {.top = 1});
  EXPECT_EQ(report.faults, 4U);
  EXPECT_EQ(report.kinds, 2U);
  ASSERT_EQ(report.lines.size(), 1U);
  EXPECT_EQ(report.lines[0].times, 3U);
  EXPECT_EQ(clause(report), report.lines[0].sentence + "; 1 fault more");
  const std::string text = to_text(report, guarded.recording, {});
  EXPECT_NE(text.find("3 times."), std::string::npos) << text;
  EXPECT_NE(text.find("1 fault more. --top 0 shows all."), std::string::npos) << text;
}

TEST(Faults, TextHasEachStackWithItsThread) {
  Guarded guarded;
  Fault& fault = guarded.fault(FaultKind::kUseAfterFree, Access::kWrite, 8);
  fault.freed = {8000, 8, guarded.frees};
  const std::string text = to_text(faults_report(guarded.recording, {}), guarded.recording, {});
  EXPECT_EQ(text,
            "Use after free: use (app.cc:3) writes offset 8 of an object of 48 bytes that drop "
            "(app.cc:4) freed.\n"
            "  written\n"
            "    use  app.cc:3\n"
            "    main  app.cc:9\n"
            "  freed 1 us before, by thread 8\n"
            "    drop  app.cc:4\n"
            "    main  app.cc:9\n"
            "  allocated 7 us before\n"
            "    make  app.cc:5\n"
            "    main  app.cc:9\n"
            "\n"
            "Guarded: 7 objects of 20 sampled (1 in 16 samples is chosen). 2 chosen ones were "
            "too large. 1 found\nall slots in use. Reads of up to 15 bytes behind an object, to "
            "the next multiple of 16, are not seen\n(--guard=1/N,exact sees them). Wrong uses of "
            "other objects are not seen.\n");
}

TEST(Faults, TheExtentTellsPlaceAndChanges) {
  Guarded guarded;
  guarded.recording.processes[0].guarding.is_exact = true;
  guarded.recording.processes[0].guarding.has_changed = true;
  const auto report = faults_report(guarded.recording, {});
  const std::string text = to_text(report, guarded.recording, {});
  EXPECT_NE(text.find("(the share was changed meanwhile)"), std::string::npos) << text;
  EXPECT_EQ(text.find("Reads of up to 15"), std::string::npos) << text;
  const auto json = nlohmann::json::parse(to_json(report, guarded.recording));
  EXPECT_EQ(json["guarding"]["exact"], true);
  EXPECT_EQ(json["guarding"]["rate_changed"], true);
}

TEST(Faults, NoFaultIsNoAllClear) {
  Guarded guarded;
  guarded.recording.processes[0].guarding.obstacle = vocabulary::GuardObstacle::kConfined;
  const auto report = faults_report(guarded.recording, {});
  EXPECT_EQ(clause(report), "");
  const std::string text = to_text(report, guarded.recording, {});
  EXPECT_EQ(text.find("No fault was seen.\n"), 0U) << text;
  EXPECT_NE(text.find("the program restricts its own"), std::string::npos) << text;
}

TEST(Faults, JsonHasStacksAndCounts) {
  Guarded guarded;
  Fault& fault = guarded.fault(FaultKind::kUseAfterFree, Access::kRead, 8);
  fault.freed = {8000, 8, guarded.frees};
  const auto json =
      nlohmann::json::parse(to_json(faults_report(guarded.recording, {}), guarded.recording));
  EXPECT_EQ(json["guarding"]["rate"], 16);
  EXPECT_EQ(json["guarding"]["guarded"], 7);
  EXPECT_EQ(json["fault_count"], 1);
  const auto& line = json["faults"][0];
  EXPECT_EQ(line["kind"], "use_after_free");
  EXPECT_EQ(line["access"], "read");
  EXPECT_EQ(line["stack"][0]["function"], "use");
  EXPECT_EQ(line["freed"]["stack"][0]["function"], "drop");
  EXPECT_EQ(line["freed"]["before_ns"], 1000);
  EXPECT_EQ(line["allocated"]["tid"], 7);
}

}  // namespace
}  // namespace geiger::report
