#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "analysis/export/flame_graphs.h"
#include "analysis/profile/testing/example_recording.h"

namespace geiger::exports {
namespace {

using profile::Kind;
using profile::example::RecordingBuilder;

std::string folded(const profile::Recording& recording, Kind kind = Kind::kAllocated,
                   present::Names names = present::Names::kShort) {
  std::string out;
  write_folded(
      recording, profile::select(recording, kind), [&](std::string_view bytes) { out += bytes; },
      names);
  return out;
}

TEST(Folded, WritesStacksRootFirstWithInlinedFrames) {
  EXPECT_EQ(folded(profile::example::small_server()),
            "main;load_table 12582912\n"
            "main;serve;make_buffer 133857118\n"
            "main;serve;read_request;grow;string::_M_create 6292650\n");
}

TEST(Folded, HasFullNamesIfAsked) {
  EXPECT_EQ(folded(profile::example::small_server(), Kind::kAllocated, present::Names::kFull),
            "main;load_table 12582912\n"
            "main;serve(int);make_buffer 133857118\n"
            "main;serve(int);read_request(Request&);grow;std::string::_M_create 6292650\n");
}

/// One sample of 100 bytes of each function, which is exact.
std::string folded_samples(const std::vector<std::string>& functions, present::Names names) {
  RecordingBuilder builder(1);
  const auto thread = builder.thread(builder.process("/bin/a", 1), "", 1);
  const auto module = builder.module("/bin/a", 0x1000);
  for (std::uint64_t i = 0; i < functions.size(); ++i) {
    const auto location = builder.location(module, i + 1, {functions[i]});
    builder.sample(thread, builder.stack({location}), 100, 1);
  }
  return folded(builder.recording(), Kind::kAllocated, names);
}

TEST(Folded, FunctionsOfFilesOfOneNameNeverMerge) {
  RecordingBuilder builder(1);
  const auto thread = builder.thread(builder.process("/bin/a", 1), "", 1);
  for (const char* path : {"/py/fast/_native.so", "/py/slow/_native.so"}) {
    const auto location = builder.location(builder.module(path, 0x1000), 1, {"decode(int)"});
    builder.sample(thread, builder.stack({location}), 100, 1);
  }
  EXPECT_EQ(folded(builder.recording()),
            "decode [fast/_native.so] 100\ndecode [slow/_native.so] 100\n");
}

TEST(Folded, FunctionsNeverMerge) {
  EXPECT_EQ(folded_samples({"f(int)", "f(char)", "a::g()", "b::g()", "std::h()", "h()",
                            "main::{lambda()#1}::operator()() const",
                            "main::{lambda()#2}::operator()() const"},
                           present::Names::kShort),
            "a::g 100\nb::g 100\nf(char) 100\nf(int) 100\nh 100\n"
            "main::{lambda:7} 100\nmain::{lambda:8} 100\nstd::h 100\n");
  for (const present::Names names : {present::Names::kShort, present::Names::kFull}) {
    EXPECT_EQ(folded_samples({"x;y", "x:y", "x\ny", "x y"}, names),
              "x y 100\nx y #2 100\nx:y 100\nx:y #2 100\n");
  }
}

TEST(Folded, SelectsTheKind) {
  EXPECT_EQ(folded(profile::example::small_server(), Kind::kLiveAtEnd),
            "main;load_table 12582912\nmain;serve;make_buffer 33464279\n");
}

TEST(Folded, AddsUpStacksThatReadAlike) {
  RecordingBuilder builder(4 * kKiB);
  const auto thread = builder.thread(builder.process("/bin/a", 1), "", 1);
  const auto module = builder.module("/bin/a", 0x1000);
  builder.sample(thread, builder.stack({builder.location(module, 1, {"f"})}), 8 * kKiB, 1);
  builder.sample(thread, builder.stack({builder.location(module, 2, {"f"})}), 8 * kKiB, 1);
  EXPECT_EQ(folded(builder.recording()), "f 16384\n");
}

TEST(Folded, NamesCannotBreakTheFormat) {
  RecordingBuilder builder(1);
  const auto thread = builder.thread(builder.process("/bin/a", 1), "", 1);
  const auto module = builder.module("/bin/a;b\n", 0x1000);
  const auto hostile = builder.location(module, 1, {"x;y\nmain 1\x1b[0m\xff", ""});
  const auto bare = builder.location(module, 0x20, {});
  builder.sample(thread, builder.stack({hostile, bare}, true), 100, 1);
  builder.sample(thread, builder.stack({}), 7, 1);
  EXPECT_EQ(folded(builder.recording()),
            "[no stack] 7\n"
            "[truncated];a:b +0x20;?;x:y main 1 [0m\xef\xbf\xbd 100\n");
}

TEST(Folded, OfNothingIsNothing) { EXPECT_EQ(folded({}), ""); }

}  // namespace
}  // namespace geiger::exports
