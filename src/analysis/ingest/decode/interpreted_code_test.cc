// Frames of interpreted programs, from records of traces to locations of a recording.
#include "analysis/ingest/decode/interpreted_code.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/ingest/ingest.h"
#include "analysis/ingest/test_files.h"
#include "analysis/profile/frames/labels.h"
#include "trace/test_trace.h"

namespace geiger::ingest {
namespace {

using profile::ModuleKind;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using trace::InterpretedFrame;
using trace::Ref;
using trace::TestTrace;

constexpr std::uint32_t k311 = 0x030b02f0;
/// Units 0 and 1 are of the next line, unit 2 of the one after it.
constexpr std::string_view kTwoLines("\xe9\x02\xe8\x02", 4);
constexpr Address kPython = 0x400000;

struct Interpreted : ::testing::Test {
  TestFiles files;

  Ingested read(const std::vector<std::byte>& image) const {
    const std::string paths[] = {files.write("t.geiger", image)};
    return read_recording(paths);
  }
  Ingested read_both(const std::vector<std::byte>& a, const std::vector<std::byte>& b) const {
    const std::string paths[] = {files.write("a.geiger", a), files.write("b.geiger", b)};
    return read_recording(paths);
  }
};

/// "function file:line" of each frame of a stack; "module+0x..." of native ones.
std::vector<std::string> texts_of(const profile::Recording& recording, std::uint32_t stack) {
  std::vector<std::string> texts;
  for (const std::uint32_t index : recording.stacks[stack].locations) {
    const profile::Location& location = recording.locations[index];
    if (location.frames.empty()) texts.push_back(profile::address_name(recording, location));
    for (const std::uint32_t frame : location.frames) {
      const profile::Frame& known = recording.frames[frame];
      texts.push_back(known.function + " " + known.file + ":" + std::to_string(known.line));
    }
  }
  return texts;
}

std::uint64_t word(Ref code, std::uint32_t offset) { return InterpretedFrame{code, offset}.pack(); }

/// A sample in work(), which <module> called.
TestTrace small_program(std::uint32_t offset = 2) {
  TestTrace trace;
  const Ref epoch = trace.epoch(1024);
  trace.module("/usr/bin/python3", "\x12", kPython, kPython + 0x10000, kPython);
  const Ref python = trace.interpreter(k311, kPython);
  const Ref work = trace.code(python, {"Pool.work", "/app/app.py", 10, kTwoLines});
  const Ref module = trace.code(python, {"<module>", "/app/app.py", 1, {}});
  const Ref stack = trace.stack(
      {kPython + 0x10, kPython + 0x20, word(work, offset), word(module, 0), kPython + 0x30});
  trace.sample({.stack = stack, .epoch = epoch});
  return trace;
}

TEST_F(Interpreted, FramesHaveFunctionFileAndLine) {
  const profile::Recording recording = read(small_program().bytes()).recording;
  EXPECT_THAT(texts_of(recording, 0),
              ElementsAre("python3+0x10", "python3+0x20", "Pool.work /app/app.py:12",
                          "<module> /app/app.py:1", "python3+0x30"));
  EXPECT_THAT(recording.warnings, IsEmpty());
  EXPECT_EQ(recording.modules[0].kind, ModuleKind::kInterpreter);
  EXPECT_EQ(recording.modules[1].path, "/app/app.py");
  EXPECT_EQ(recording.modules[1].kind, ModuleKind::kSource);
}

TEST_F(Interpreted, LinesOfOneFunctionAreTwoLocations) {
  TestTrace trace = small_program();
  const Ref python = trace.interpreter(k311, kPython);
  const Ref work = trace.code(python, {"Pool.work", "/app/app.py", 10, kTwoLines});
  const Ref stack = trace.stack({word(work, 0), word(work, 1), word(work, 2),
                                 word(work, InterpretedFrame::kNotBegun), word(work, 900)});
  trace.sample({.stack = stack});
  const profile::Recording recording = read(trace.bytes()).recording;
  const auto& locations = recording.stacks[1].locations;
  EXPECT_THAT(texts_of(recording, 1),
              ElementsAre("Pool.work /app/app.py:11", "Pool.work /app/app.py:11",
                          "Pool.work /app/app.py:12", "Pool.work /app/app.py:10",
                          "Pool.work /app/app.py:10"));
  EXPECT_EQ(locations[0], locations[1]);
  EXPECT_EQ(locations[2], recording.stacks[0].locations[2]);  // By another record.
  EXPECT_EQ(locations[3], locations[4]);
}

TEST_F(Interpreted, ProcessesShareLocations) {
  TestTrace other = small_program();
  other.header().pid = 101;
  const profile::Recording recording = read_both(small_program().bytes(), other.bytes()).recording;
  EXPECT_EQ(recording.processes.size(), 2U);
  EXPECT_EQ(recording.stacks.size(), 1U);
  EXPECT_EQ(recording.interpreters.size(), 2U);
}

TEST_F(Interpreted, FunctionsOfEqualNamesInTwoFilesAreTwo) {
  TestTrace trace = small_program();
  const Ref python = trace.interpreter(k311, kPython);
  const Ref other = trace.code(python, {"Pool.work", "/app/b.py", 10, kTwoLines});
  trace.sample({.stack = trace.stack({word(other, 2)})});
  const profile::Recording recording = read(trace.bytes()).recording;
  const profile::Labels labels(recording);
  std::vector<std::uint32_t> a, b;
  labels.collect(recording, 0, a);
  labels.collect(recording, 1, b);
  EXPECT_EQ(labels[a[2]].name, labels[b[0]].name);
  EXPECT_NE(a[2], b[0]);
}

TEST_F(Interpreted, ModulesComeAfterTheirInterpretersToo) {
  TestTrace trace;
  trace.interpreter(k311, kPython);
  trace.module("/usr/bin/python3", "\x12", kPython, kPython + 0x10000, kPython);
  trace.module("/lib/libc.so.6", "\x13", 0x7f0000, 0x7f1000, 0x7f0000);
  const profile::Recording recording = read(trace.bytes()).recording;
  EXPECT_EQ(recording.modules[0].kind, ModuleKind::kInterpreter);
  EXPECT_EQ(recording.modules[1].kind, ModuleKind::kNative);
}

TEST_F(Interpreted, TheLatestRecordOfAnInterpreterHolds) {
  using vocabulary::InterpretedFrames;
  using vocabulary::SmallObjects;
  TestTrace trace;
  trace.module("/usr/bin/python3", "\x12", kPython, kPython + 0x10000, kPython);
  trace.interpreter(k311, kPython, InterpretedFrames::kOff, SmallObjects::kNotKnown);
  trace.interpreter(k311, kPython, InterpretedFrames::kImplausible, SmallObjects::kOtherPools);
  trace.interpreter(0x030f00f0, 0x900000, InterpretedFrames::kUnknownVersion);
  trace.header().unread_stacks = 3;
  const profile::Recording recording = read(trace.bytes()).recording;
  EXPECT_EQ(recording.processes[0].unread_stacks, 3);
  ASSERT_EQ(recording.interpreters.size(), 2U);
  EXPECT_EQ(recording.interpreters[0].frames, InterpretedFrames::kImplausible);
  EXPECT_EQ(recording.interpreters[0].small_objects, SmallObjects::kOtherPools);
  EXPECT_EQ(recording.interpreters[1].version, 0x030f00f0U);
  EXPECT_EQ(recording.modules[0].kind, ModuleKind::kNative);  // No frames between its own.
}

TEST_F(Interpreted, FramesWithoutTheirCodeAreUnknownAndReported) {
  TestTrace trace;
  const Ref epoch = trace.epoch(1024);
  trace.code(epoch, {"orphan", "o.py"});
  const Ref stack = trace.stack({word(77, 3), word(epoch, 0)});
  trace.sample({.stack = stack, .epoch = epoch});
  const profile::Recording recording = read(trace.bytes()).recording;
  EXPECT_THAT(texts_of(recording, 0),
              ElementsAre("<unknown> <unknown>:0", "<unknown> <unknown>:0"));
  EXPECT_THAT(recording.warnings,
              ElementsAre(HasSubstr("3 frames or code of interpreters without their records")));
}

TEST_F(Interpreted, LongTextsAreCutBetweenCharacters) {
  TestTrace trace;
  const Ref python = trace.interpreter(k311, kPython);
  std::string name(999, 'n');
  name += "\xc3\xa9 and more";
  const Ref code = trace.code(python, {name, {}, 3, {}});
  trace.sample({.stack = trace.stack({word(code, 0)})});
  const profile::Recording recording = read(trace.bytes()).recording;
  EXPECT_THAT(texts_of(recording, 0), ElementsAre(std::string(999, 'n') + " <unknown>:3"));
}

}  // namespace
}  // namespace geiger::ingest
