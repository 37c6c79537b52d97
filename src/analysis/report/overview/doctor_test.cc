#include "analysis/report/overview/doctor.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>

#include "analysis/profile/testing/drawn_recording.h"
#include "analysis/profile/testing/example_recording.h"

namespace geiger::report {
namespace {

using profile::DrawnRecording;
using profile::Recording;
using ::testing::HasSubstr;
using ::testing::Not;

Diagnosis diagnosis(const Recording& recording, std::string_view check,
                    const DoctorOptions& options = {}) {
  for (const Diagnosis& one : doctor_report(recording, options).diagnoses) {
    if (one.check == check) return one;
  }
  ADD_FAILURE() << "no check " << check;
  return {};
}

Severity severity(const Recording& recording, std::string_view check) {
  return diagnosis(recording, check).severity;
}

Recording drawn() { return DrawnRecording(4096).threads(2, 400).recording; }

std::string doctor_text_of(const Recording& recording, present::Style style = {}) {
  DoctorOptions options;
  options.run = "geiger-server.4711";
  return to_text(doctor_report(recording, options), recording, style);
}

TEST(Doctor, ReadsLikeThis) {
  present::Style style;
  style.width = 80;
  EXPECT_EQ(doctor_text_of(profile::example::small_server(), style), R"(server, pid 4711: healthy

  good    The traces are undamaged.
  good    Recorded to the end of every process.
  good    Every process that was seen, and every segment, has its trace.
  good    Hits are as expected: 252 hits, 249 expected (z = 0.2, p = 0.87).
  good    Offsets of sampled bytes are as expected: 252 offsets, p = 1.
  good    No two threads drew the same numbers.
  good    Every counted hit is accounted for.
  good    The estimate agrees with the exact total: 146 MiB ± 17 estimated,
          exactly 144 MiB.
  good    All allocations of 2 threads are counted.
  good    Nothing was dropped.
  good    No stacks are truncated.
  good    All frames have names.
  good    252 samples chosen by chance; any site without samples allocated less
          than 1.85 MiB.

next: geiger table geiger-server.4711
)");
}

TEST(Doctor, FindsNothingInARightRecording) {
  const Recording recording = drawn();
  const DoctorReport report = doctor_report(recording, {});
  EXPECT_TRUE(report.is_healthy());
  for (const Diagnosis& one : report.diagnoses) {
    EXPECT_EQ(one.severity, Severity::kGood) << one.check << ": " << one.what;
    EXPECT_THAT(one.what, Not(HasSubstr("nan")));
  }
}

// What one check is for, no other hides, and the rest stay quiet.
void expect_only(const Recording& recording, std::vector<std::string_view> checks) {
  for (const Diagnosis& one : doctor_report(recording, {}).diagnoses) {
    const bool is_expected = std::ranges::find(checks, one.check) != checks.end();
    EXPECT_EQ(one.severity == Severity::kDefect, is_expected) << one.check << ": " << one.what;
    if (one.severity == Severity::kDefect) {
      EXPECT_NE(one.meaning, "") << one.check;
    }
  }
}

TEST(Doctor, FindsOffsetsShiftedByOne) {
  Recording recording = drawn();
  for (profile::Sample& sample : recording.samples) ++sample.offset;
  expect_only(recording, {"offsets"});
  EXPECT_THAT(diagnosis(recording, "offsets").what, HasSubstr("outside its allocation"));
}

TEST(Doctor, FindsOffsetsThatAreAllTheSame) {
  Recording recording = drawn();
  for (profile::Sample& sample : recording.samples) sample.offset = 3;
  expect_only(recording, {"offsets"});
  EXPECT_THAT(diagnosis(recording, "offsets").what, HasSubstr("p < 1e-300"));
}

TEST(Doctor, FindsHitsThatLeftNoSample) {
  Recording recording = drawn();
  recording.samples.resize(recording.samples.size() / 2);
  expect_only(recording, {"samples", "total"});
  EXPECT_THAT(diagnosis(recording, "samples").what, HasSubstr("400 of 800 hits left no sample"));
}

TEST(Doctor, FindsHitsThatWereNeverCounted) {
  Recording recording = drawn();
  for (profile::Thread& thread : recording.threads) thread.hits /= 2;
  expect_only(recording, {"hits", "samples"});
  EXPECT_THAT(diagnosis(recording, "hits").meaning, HasSubstr("too low"));
  recording.processes[0].ending = profile::Ending::kStillOpen;
  EXPECT_EQ(severity(recording, "samples"), Severity::kGood);
}

TEST(Doctor, FindsOneSeedInAllProcesses) {
  DrawnRecording all(4096);
  all.threads(1, 300);
  for (int i = 0; i < 5; ++i) all.copy_thread(0, all.process());
  expect_only(all.recording, {"draws"});
  const Diagnosis found = diagnosis(all.recording, "draws");
  EXPECT_THAT(found.what, HasSubstr("6 threads drew the same numbers"));
  EXPECT_THAT(found.what, HasSubstr("pid 100, 101, 102 and 3 more"));
  for (profile::Process& process : all.recording.processes) process.seed = 7;
  EXPECT_THAT(diagnosis(all.recording, "draws").next, HasSubstr("without --seed"));
}

TEST(Doctor, FindsAWrongTotal) {
  Recording recording = drawn();
  for (profile::Sample& sample : recording.samples) sample.requested *= 2;
  const Diagnosis found = diagnosis(recording, "total");
  EXPECT_EQ(found.severity, Severity::kDefect);
  EXPECT_THAT(found.what, HasSubstr("misses the exact total"));
}

TEST(Doctor, SaysWhenTheIntervalMissesTheTotalByChance) {
  Recording recording = profile::example::small_server();
  recording.threads[1].bytes -= 19 * kMiB;
  recording.threads[1].trials -= 19 * kMiB;
  const Diagnosis found = diagnosis(recording, "total");
  EXPECT_EQ(found.severity, Severity::kGood);
  EXPECT_THAT(found.what, testing::MatchesRegex("The estimate is 1. % high, outside its interval, "
                                                "as in one run of [0-9]+: 14.*, exactly 125 MiB."));
}

/// What the interpreter is built of has no names, the program has.
TEST(Doctor, DoesNotAlarmWherePythonHasItsNames) {
  Recording recording = profile::example::small_server();
  profile::Module script;
  script.path = "service.py";
  script.kind = profile::ModuleKind::kSource;
  recording.modules.push_back(script);
  const auto module = static_cast<std::uint32_t>(recording.modules.size() - 1);
  for (profile::Stack& stack : recording.stacks) {
    recording.locations[stack.locations.back()].module = module;
    recording.locations[stack.locations.front()].frames.clear();
  }
  EXPECT_THAT(diagnosis(recording, "names").what, HasSubstr("Some native frames have no names"));
}

TEST(Doctor, SaysWhereTheDamageIs) {
  Recording recording = drawn();
  recording.warnings.emplace_back("a.geiger: offset 8192: \x1b[31mbad");
  EXPECT_EQ(severity(recording, "damage"), Severity::kNote);
  const Diagnosis found = diagnosis(recording, "damage", DoctorOptions{0.95, "", true});
  EXPECT_EQ(found.severity, Severity::kDefect);
  EXPECT_THAT(doctor_text_of(recording), HasSubstr("\\x1b[31mbad"));
}

TEST(Doctor, BoundsWhatIsNotSettled) {
  Recording recording = drawn();
  recording.threads[1].armed = 4095;
  EXPECT_EQ(severity(recording, "threads"), Severity::kNote);
  EXPECT_THAT(diagnosis(recording, "threads").what,
              HasSubstr("1 of 2 threads are not counted: at most 4.00 KiB"));
}

// A few drops drown in what chance does anyway, many do not.
TEST(Doctor, WeighsDropsAgainstTheInterval) {
  Recording recording = drawn();
  recording.processes[0].drops[1] = 3;
  const Diagnosis few = diagnosis(recording, "drops");
  EXPECT_EQ(few.severity, Severity::kNote);
  EXPECT_THAT(few.what, HasSubstr("3: a signal handler allocated"));
  EXPECT_THAT(few.meaning, HasSubstr("less than their intervals"));
  recording.processes[0].drops[0] = 300;
  EXPECT_EQ(severity(recording, "drops"), Severity::kDefect);
  EXPECT_THAT(diagnosis(recording, "drops").meaning, HasSubstr("more than their intervals"));
  recording.processes[0].drops = {0, 0, 9, 9};
  EXPECT_EQ(severity(recording, "drops"), Severity::kNote);
  EXPECT_THAT(diagnosis(recording, "drops").meaning, HasSubstr("live"));
}

TEST(Doctor, NotesHowItEnded) {
  Recording recording = drawn();
  recording.processes[0].ending = profile::Ending::kSwitchedOff;
  recording.processes[0].stop_reason = vocabulary::StopReason::kTraceFull;
  const Diagnosis found = diagnosis(recording, "ending");
  EXPECT_EQ(found.severity, Severity::kNote);
  EXPECT_THAT(found.what, HasSubstr("pid 100: recording stopped early: the trace reached"));
  EXPECT_THAT(found.next, HasSubstr("--trace-limit"));
  recording.processes[0].ending = profile::Ending::kKilled;
  EXPECT_EQ(diagnosis(recording, "ending").next, "");
}

TEST(Doctor, NotesCutOffStacksAndMissingNames) {
  Recording recording = profile::example::small_server();
  EXPECT_EQ(severity(recording, "stacks"), Severity::kGood);
  EXPECT_EQ(severity(recording, "names"), Severity::kGood);
  recording.stacks[0].is_truncated = true;
  recording.locations[4].frames.clear();
  EXPECT_THAT(diagnosis(recording, "stacks").what, HasSubstr("4.7 % of the samples"));
  EXPECT_THAT(diagnosis(recording, "names").what, HasSubstr("95 % of the samples"));
}

/// Frames without a symbol are called by their address, also where names were looked up.
TEST(Doctor, NamesThatAreAddressesAreNone) {
  Recording recording = profile::example::small_server();
  for (profile::Frame& frame : recording.frames) {
    if (frame.function == "make_buffer") frame = {"server+0x500", "", "", 0};
  }
  EXPECT_THAT(diagnosis(recording, "names").what, HasSubstr("95 % of the samples"));
  EXPECT_THAT(diagnosis(recording, "names").next, HasSubstr("-dbgsym package of server"));
  EXPECT_THAT(diagnosis(recording, "names").next, HasSubstr("were replaced since they ran"));
}

TEST(Doctor, SaysWhatIsMissingOfInterpreters) {
  Recording recording = drawn();
  recording.interpreters = {{.version = 0x030b02f0,
                             .frames = vocabulary::InterpretedFrames::kRecorded,
                             .small_objects = vocabulary::SmallObjects::kSampled}};
  EXPECT_EQ(diagnosis(recording, "interpreters").severity, Severity::kGood);
  recording.processes[0].unread_stacks = 1200;
  EXPECT_EQ(diagnosis(recording, "interpreters").what,
            "1,200 stacks are without Python frames, which could not be read at that instant.");
  recording.processes[0].unread_stacks = 0;
  recording.interpreters[0].frames = vocabulary::InterpretedFrames::kFreeThreaded;
  recording.interpreters[0].small_objects = vocabulary::SmallObjects::kOtherPools;
  EXPECT_EQ(diagnosis(recording, "interpreters").severity, Severity::kNote);
  EXPECT_EQ(diagnosis(recording, "interpreters").what,
            "Python 3.11.2: stacks lack its frames: a build without the global lock; its small "
            "objects are not sampled: an allocator of their own.");
}

TEST(Doctor, SaysWhichTracesCouldNotBeMade) {
  Recording recording = drawn();
  recording.processes[0].refused.segment_errno = EACCES;
  const Diagnosis segment = diagnosis(recording, "traces");
  EXPECT_EQ(segment.severity, Severity::kNote);
  EXPECT_EQ(segment.what,
            "pid 100: no further segment could be created (Permission denied), so the last one "
            "kept growing.");
  recording.processes[0].refused = {.children = 2, .children_errno = ENOSPC};
  const Diagnosis children = diagnosis(recording, "traces");
  EXPECT_EQ(children.severity, Severity::kDefect);
  EXPECT_EQ(
      children.what,
      "2 child processes were not recorded: no trace could be created (No space left on device).");
}

TEST(Doctor, FindsProcessesWithoutTraces) {
  Recording recording = drawn();
  EXPECT_TRUE(doctor_report(recording, {}).is_healthy());
  recording.unrecorded_processes = 2;
  const Diagnosis found = diagnosis(recording, "traces");
  EXPECT_EQ(found.severity, Severity::kDefect);
  EXPECT_EQ(found.what, "2 or more processes were not recorded.");
  EXPECT_EQ(found.meaning, "Their allocations are in no figure.");
  EXPECT_FALSE(doctor_report(recording, {}).is_healthy());
}

TEST(Doctor, AsksForASmallerIntervalWhereSamplesAreFew) {
  const Recording recording = DrawnRecording(4096).threads(1, 20).recording;
  const Diagnosis found = diagnosis(recording, "detection", DoctorOptions{0.95, "x", false});
  EXPECT_EQ(found.severity, Severity::kNote);
  EXPECT_THAT(found.what, HasSubstr("less than 14.8 KiB"));
  EXPECT_THAT(found.next, HasSubstr("geiger plan x"));
}

TEST(Doctor, HasNothingToTestAtIntervalOne) {
  profile::example::RecordingBuilder builder(1);
  const auto thread = builder.thread(builder.process("/bin/a", 1), "", 1);
  builder.sample(thread, builder.stack({}), 100, 1, 3);
  builder.recording().threads[0].bytes = 100;
  builder.recording().threads[0].certain_count = 1;
  const DoctorReport report = doctor_report(builder.recording(), {});
  EXPECT_TRUE(report.is_healthy());
  EXPECT_THAT(to_text(report, builder.recording(), {}), HasSubstr("nothing was left to chance"));
}

TEST(Doctor, ListsProcesses) {
  const Recording recording = DrawnRecording(4096).threads(1, 150).threads(1, 80).recording;
  EXPECT_THAT(doctor_text_of(recording), HasSubstr("Processes\n"));
  EXPECT_THAT(doctor_text_of(recording), HasSubstr("pid 100 and 1 more process: healthy"));
  const Recording second_has_most = DrawnRecording(4096).threads(1, 80).threads(1, 150).recording;
  EXPECT_THAT(doctor_text_of(second_has_most), HasSubstr("pid 101 and 1 more process: healthy"));
}

TEST(Doctor, OfNothing) {
  EXPECT_THAT(doctor_text_of({}), HasSubstr("The recording is empty"));
  EXPECT_TRUE(doctor_report({}, {}).is_healthy());
}

TEST(Doctor, JsonCarriesTheFigures) {
  Recording recording = drawn();
  recording.samples[0].offset = 1 << 20;
  const nlohmann::json json =
      nlohmann::json::parse(to_json(doctor_report(recording, {}), recording));
  EXPECT_EQ(json["schema_version"], 1);
  EXPECT_EQ(json["report"], "doctor");
  EXPECT_FALSE(json["healthy"]);
  EXPECT_EQ(json["findings"].size(), 13U);
  EXPECT_EQ(json["offsets"]["impossible"], 1);
  EXPECT_EQ(json["processes"][0]["hits"]["observed"], 800);
  EXPECT_EQ(json["processes"][0]["samples"]["found"], 800);
  EXPECT_TRUE(json["processes"][0]["total"]["agrees"]);
  EXPECT_EQ(json["shared_draws"].size(), 0U);
}

}  // namespace
}  // namespace geiger::report
