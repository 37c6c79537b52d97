// Heap text, read the way that google-pprof and jeprof read it.
#include "analysis/export/heap_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "analysis/export/shown_stacks.h"
#include "analysis/profile/testing/example_recording.h"

namespace geiger::exports {
namespace {

using profile::Kind;
using profile::Profile;
using profile::Recording;
using profile::example::RecordingBuilder;
using profile::example::small_server;
using ::testing::HasSubstr;
using ::testing::Not;

struct Figures {
  double objects = 0, bytes = 0;
};

struct Read {
  std::string text;
  std::string kind;  ///< Behind the '@' of the header.
  std::map<std::string, std::string> names;
  std::map<std::string, Figures> live, allocated;  ///< By addresses.
  Figures all_live, all_allocated;
};

Figures scaled(double count, double bytes, double interval) {
  const bool scales = interval > 0 && count > 0;
  const double scale = scales ? 1 / (1 - std::exp(-bytes / count / interval)) : 1;
  return {count * scale, bytes * scale};
}

void add(Figures& sum, const Figures& figures) {
  sum.objects += figures.objects;
  sum.bytes += figures.bytes;
}

Read read_as_others_do(const std::string& text) {
  Read read;
  read.text = text;
  std::istringstream lines(text);
  double interval = 0;
  for (std::string line; std::getline(lines, line) && line != "MAPPED_LIBRARIES:";) {
    double numbers[4]{};
    int end = 0;
    char name[600] = "", address[40] = "";
    if (line.starts_with("heap profile:")) {
      read.kind = line.substr(line.find('@') + 2);
      std::sscanf(read.kind.c_str(), "heap_v2/%lf", &interval);
    } else if (std::sscanf(line.c_str(), "%lf: %lf [%lf: %lf] @ %n", &numbers[0], &numbers[1],
                           &numbers[2], &numbers[3], &end) == 4 &&
               end > 0) {
      const std::string stack = line.substr(static_cast<std::size_t>(end));
      EXPECT_THAT(stack, ::testing::StartsWith("0x")) << line;
      const Figures live = scaled(numbers[0], numbers[1], interval);
      const Figures allocated = scaled(numbers[2], numbers[3], interval);
      add(read.live[stack], live);
      add(read.allocated[stack], allocated);
      add(read.all_live, live);
      add(read.all_allocated, allocated);
    } else if (std::sscanf(line.c_str(), "%39s %599[^\n]", address, name) == 2) {
      if (line.starts_with("0x")) read.names[address] = name;
    }
  }
  return read;
}

Read written(const Recording& recording, Kind held = Kind::kLiveAtEnd) {
  std::string out;
  write_heap_text(recording, profile::select(recording, Kind::kAllocated),
                  profile::select(recording, held), {"a comment\nof two lines"},
                  [&](std::string_view bytes) { out += bytes; });
  return read_as_others_do(out);
}

Figures estimated(const Recording& recording, Kind kind) {
  const auto sums = profile::total(recording, profile::select(recording, kind));
  return {sums.all_objects(), sums.all_bytes()};
}

void expect_near(const Figures& read, const Figures& truth, double relative, double objects) {
  EXPECT_NEAR(read.bytes, truth.bytes, 1 + relative * truth.bytes);
  EXPECT_NEAR(read.objects, truth.objects, objects + relative * truth.objects);
}

/// By the hundred: `count` objects at each of ten stacks, every third of them freed.
Recording many_objects(Bytes interval, Bytes smallest, Bytes step, int count) {
  RecordingBuilder builder(interval);
  const auto thread = builder.thread(builder.process("/bin/a", 7), "main", 7);
  const auto module = builder.module("/bin/a", 0x1000);
  for (Address i = 0; i < 10; ++i) {
    const auto stack =
        builder.stack({builder.location(module, 0x10 + i, {"f" + std::to_string(i)})});
    for (int j = 0; j < count; ++j) {
      const auto n = static_cast<Bytes>(j) + i * 7;
      builder.sample(thread, stack, smallest + n * step, 1 + j, j % 3 == 0 ? 500 : 0);
    }
  }
  return builder.recording();
}

TEST(HeapText, SamplesStandInItAsTheyWereDrawn) {
  const Recording recording = small_server();
  const Read read = written(recording);
  EXPECT_EQ(read.kind, "heap_v2/524288");
  EXPECT_THAT(read.text, HasSubstr("    60:  3932160 [   240: 15728640] @ 0x"));
  EXPECT_THAT(read.text, HasSubstr("     0:        0 [    12:     2400] @ 0x"));
  EXPECT_THAT(read.text, HasSubstr("# a comment of two lines\n"));
  expect_near(read.all_live, estimated(recording, Kind::kLiveAtEnd), 1e-6, 0.01);
  expect_near(read.all_allocated, estimated(recording, Kind::kAllocated), 1e-6, 0.01);
}

TEST(HeapText, HasNamesAndModules) {
  const Read read = written(small_server());
  EXPECT_EQ(read.names.at("0x400300"), "read_request(Request&)--grow");
  EXPECT_EQ(read.names.at("0x7f1000000400"), "std::string::_M_create");
  EXPECT_THAT(read.text, HasSubstr("--- symbol\nbinary=/usr/bin/server\n0x"));
  EXPECT_THAT(read.text, HasSubstr("\n---\nheap profile: "));
  EXPECT_THAT(read.text, HasSubstr("\nMAPPED_LIBRARIES:\n"
                                   "400000-410000 r-xp 00000000 00:00 0 /usr/bin/server\n"));
}

TEST(HeapText, OfAddressesAloneIsWithoutSymbols) {
  Recording recording = small_server();
  for (profile::Location& location : recording.locations) location.frames.clear();
  EXPECT_THAT(written(recording).text, ::testing::StartsWith("heap profile: "));
}

TEST(HeapText, CertainObjectsAreToldInFull) {
  constexpr Bytes kInterval = 4096;
  // From the interval itself, which no number of samples expresses, to thirty times it.
  for (const Bytes step : {Bytes{0}, Bytes{1}, Bytes{137}, Bytes{3000}}) {
    const Recording recording = many_objects(kInterval, kInterval, step, 40);
    const Read read = written(recording);
    for (const auto& stack :
         sums_in_order(recording, profile::select(recording, Kind::kLiveAtEnd))) {
      const auto& location = recording.locations[recording.stacks[stack.stack].locations[0]];
      char address[20];
      std::snprintf(address, sizeof address, "0x%lx", location.vaddr + 0x1000);
      EXPECT_NEAR(read.live.at(address).bytes, stack.sums.all_bytes(), 2) << step;
    }
    expect_near(read.all_live, estimated(recording, Kind::kLiveAtEnd), 1e-5, 1);
    expect_near(read.all_allocated, estimated(recording, Kind::kAllocated), 1e-5, 2);
  }
}

TEST(HeapText, OfEverythingRecordedIsExact) {
  const Recording recording = many_objects(1, 10, 3, 20);
  const Read read = written(recording);
  EXPECT_EQ(read.kind, "heapprofile");
  expect_near(read.all_live, estimated(recording, Kind::kLiveAtEnd), 0, 0);
  expect_near(read.all_allocated, estimated(recording, Kind::kAllocated), 0, 0);
}

TEST(HeapText, PeakIsOfThreeQuartersOfTheSamplesAndRepeated) {
  const Recording recording = many_objects(1024, 100, 1, 60);
  const Read read = written(recording, Kind::kLiveAtPeak);
  EXPECT_EQ(read.kind, "heap_v2/1365");
  expect_near(read.all_live, estimated(recording, Kind::kLiveAtPeak), 1e-3, 1);
  EXPECT_EQ(read.all_live.bytes, read.all_allocated.bytes);
}

TEST(HeapText, SeveralIntervalsAndThinnedProcesses) {
  Recording several = many_objects(4096, 100, 20, 60);
  several.epochs.push_back({1024, -std::log1p(-1.0 / 1024)});
  for (std::size_t i = 0; i < several.samples.size(); i += 2) several.samples[i].epoch = 1;
  Recording thinned = many_objects(4096, 100, 20, 60);
  thinned.processes[0].thinning = 3;
  for (const Recording& recording : {several, thinned}) {
    const Read read = written(recording);
    expect_near(read.all_live, estimated(recording, Kind::kLiveAtEnd), 2e-4, 1);
  }
  expect_near(written(several).all_allocated, estimated(several, Kind::kAllocated), 2e-4, 2);
}

TEST(HeapText, ProcessesWhoseModulesOverlapAreToldApart) {
  RecordingBuilder builder;
  const auto thread = builder.thread(builder.process("/bin/b", 7), "main", 7);
  const auto a = builder.module("/bin/a", 0x400000);
  const auto b = builder.module("/bin/b", 0x400000);
  const auto nowhere = static_cast<std::uint32_t>(profile::kNone);
  const auto stack = builder.stack(
      {builder.location(a, 0x10, {"in_a"}), builder.location(b, 0x10, {"in_b"}),
       builder.location(nowhere, 0x400010, {"jitted"}), builder.location(nowhere, 0, {"null"})},
      true);
  builder.sample(thread, stack, 100, 1);
  const Read read = written(builder.recording());
  ASSERT_EQ(read.live.size(), 1U);
  std::istringstream addresses(read.live.begin()->first);
  std::vector<std::string> names;
  for (std::string address; addresses >> address;) names.push_back(read.names.at(address));
  EXPECT_THAT(names, ::testing::ElementsAre("in_a", "in_b", "jitted", "null", "[truncated]"));
  EXPECT_EQ(read.names.at("0x400010"), "in_b");  // The program stays where it was.
}

// Trimmed stacks begin at a place that others go on through.
TEST(HeapText, PlacesSeenByFewerFramesAreToldApart) {
  RecordingBuilder builder;
  const auto thread = builder.thread(builder.process("/bin/b", 7), "main", 7);
  const auto b = builder.module("/bin/b", 0x400000);
  const auto whole = builder.location(b, 0x10, {"inlined", "function"});
  const auto part = builder.location(b, 0x10, {"function"});
  builder.sample(thread, builder.stack({whole}), 100, 1);
  builder.sample(thread, builder.stack({part}), 200, 2);
  const Read read = written(builder.recording());
  EXPECT_EQ(read.names.at("0x400010"), "function--inlined");
  EXPECT_EQ(read.live.size(), 2U);
  EXPECT_EQ(read.names.size(), 2U);
}

TEST(HeapText, NamesCannotBreakTheFormat) {
  RecordingBuilder builder;
  const auto thread = builder.thread(builder.process("/bin/a\n---\nx", 7), "main", 7);
  const auto module = builder.module("/bin/a\nMAPPED_LIBRARIES:", 0x1000);
  const auto hostile = builder.location(
      module, 1, {"operator--", "x\n---\nheap profile: 1: 1 [1: 1] @ \x1b[0m\xff", ""});
  builder.sample(thread, builder.stack({hostile}), 100, 1);
  builder.sample(thread, builder.stack({}), 100, 1);
  const Read read = written(builder.recording());
  EXPECT_EQ(read.kind, "heap_v2/524288");
  EXPECT_THAT(read.text, HasSubstr(" ?--x - - - heap profile"));
  EXPECT_THAT(read.text, HasSubstr("--operator- -\n"));
  EXPECT_THAT(read.text, Not(HasSubstr("\x1b")));
  EXPECT_EQ(read.live.size(), 2U);
}

TEST(HeapText, OfNothingIsAHeader) {
  EXPECT_THAT(written({}).text, ::testing::StartsWith("heap profile:      0:"));
}

}  // namespace
}  // namespace geiger::exports
