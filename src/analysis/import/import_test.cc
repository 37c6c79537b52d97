#include "analysis/import/import.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>
#include <zstd.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <protozero/pbf_writer.hpp>
#include <string>

#include "analysis/import/heaptrack.h"
#include "analysis/import/pprof.h"
#include "analysis/profile/memory/measured.h"
#include "analysis/profile/select/profile.h"
#include "estimation/estimate.h"
#include "estimation/sums.h"

namespace geiger::imports {
namespace {

using profile::Kind;
using profile::Recording;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kJemallocText =
    "heap_v2/1024\n"
    "  t*: 12: 3200 [0: 0]\n"
    "@ 0x401010 0x402020\n"
    "  t*: 10: 1000 [0: 0]\n"
    "  t1: 10: 1000 [0: 0]\n"
    "@ 0x403030 0x402020\n"
    "  t*: 3: 2200 [0: 0]\n"
    "\n"
    "MAPPED_LIBRARIES:\n"
    "00400000-00500000 r-xp 00000000 08:01 99   /nowhere/server (deleted)\n"
    "7f0000000000-7f0000001000 r-xp 00000000 08:01 99   /lib/libjemalloc.so.2\n";

estimation::Estimate bytes(const Recording& recording, Kind kind) {
  return estimation::estimate_bytes(profile::total(recording, profile::select(recording, kind)),
                                    0.95);
}

double weight(double size, double interval) { return size / -std::expm1(-size / interval); }

TEST(Import, SampledRowsOfJemallocGetIntervals) {
  const Imported imported = read_bytes(kJemallocText, "je.heap");
  ASSERT_TRUE(imported.errors.empty()) << imported.errors[0].text();
  const Recording& recording = imported.recording;
  const estimation::Estimate live = bytes(recording, Kind::kLiveAtEnd);
  // 2200 bytes of three objects: one of 734, two of 733.
  const double expected = 10 * weight(100, 1024) + weight(734, 1024) + 2 * weight(733, 1024);
  EXPECT_NEAR(live.value, expected, 1e-6 * expected);
  EXPECT_EQ(live.samples, 13U);
  EXPECT_GT(live.variance, 0);
  EXPECT_LT(live.interval.lo, live.value);
  EXPECT_GT(live.interval.hi, live.value);
}

/// The sums of two kinds of samples of one size, as a row of geiger's pprof has them.
RowSums row_of(Bytes size, std::uint64_t n, double first, std::uint64_t m, double second) {
  estimation::NodeSums sums;
  sums.add(size, first, n);
  sums.add(size, second, m);
  const auto certain = static_cast<double>(sums.certain_samples);
  return {size, n + m, std::round(sums.objects + certain), std::round(sums.all_bytes()),
          std::round(sums.bytes_variance)};
}

TEST(RowSums, MixedRowsKeepTheirSums) {
  const double coarse = estimation::rate_of_interval(512 << 10);
  const double fine = estimation::rate_of_interval(16 << 10);
  for (const auto& [size, n, m] : {std::tuple{100, 3, 40}, {5000, 1, 1}, {40000, 7, 2}}) {
    const RowSums row = row_of(static_cast<Bytes>(size), static_cast<std::uint64_t>(n), coarse,
                               static_cast<std::uint64_t>(m), fine);
    estimation::NodeSums back;
    for (const estimation::Count& kind : samples_behind(row, coarse)) add(back, kind, kind.count);
    EXPECT_EQ(back.samples + back.certain_samples, row.samples);
    EXPECT_NEAR(back.all_bytes(), row.bytes, 1e-6 * row.bytes);
    EXPECT_NEAR(back.bytes_variance, row.bytes_variance, 1e-4 * row.bytes_variance);
  }
}

TEST(RowSums, CertainAndTriedOnesOfOneSize) {
  const double coarse = estimation::rate_of_interval(512 << 10);
  const RowSums row = row_of(20000, 4, coarse, 5, estimation::kCertainRate);
  estimation::NodeSums back;
  for (const estimation::Count& kind : samples_behind(row, coarse)) add(back, kind, kind.count);
  EXPECT_NEAR(back.all_bytes(), row.bytes, 1e-6 * row.bytes);
  EXPECT_NEAR(back.bytes_variance, row.bytes_variance, 1e-4 * row.bytes_variance);
}

TEST(Import, WhatTellsLiveOnlySaysNothingOfAllocations) {
  const Imported imported = read_bytes(kJemallocText, "je.heap");
  EXPECT_TRUE(profile::has_live_only(imported.recording));
  EXPECT_EQ(bytes(imported.recording, Kind::kAllocated).samples, 0U);
  EXPECT_EQ(check_kind(imported.recording, Kind::kAllocated, {}).reason(), profile::kLiveOnly);
  EXPECT_FALSE(check_kind(imported.recording, Kind::kLiveAtPeak, {}).has_value());
  EXPECT_FALSE(check_kind(imported.recording, Kind::kOverhead, {}).has_value());
}

TEST(Import, AddressesOfHeapTextGetTheirModules) {
  const Imported imported = read_bytes(kJemallocText, "je.heap");
  const Recording& recording = imported.recording;
  ASSERT_EQ(recording.modules.size(), 2U);
  EXPECT_EQ(recording.modules[0].path, "/nowhere/server");
  ASSERT_EQ(recording.stacks.size(), 2U);
  const profile::Location& leaf = recording.locations[recording.stacks[0].locations[0]];
  EXPECT_EQ(leaf.vaddr, 0x1010U);
  EXPECT_EQ(leaf.module, 0U);
  EXPECT_FALSE(recording.is_symbolized);
  EXPECT_EQ(recording.processes[0].executable, "/nowhere/server");
  EXPECT_EQ(recording.processes[0].allocator, "/lib/libjemalloc.so.2");
}

TEST(Import, GperftoolsCountsEverything) {
  const Imported imported = read_bytes(
      "heap profile: 3: 300 [ 5: 900] @ heapprofile\n"
      " 3: 300 [ 5: 900] @ 0x1 0x2\n",
      "gp.heap");
  ASSERT_TRUE(imported.errors.empty());
  EXPECT_EQ(bytes(imported.recording, Kind::kLiveAtEnd).value, 300);
  const estimation::Estimate all = bytes(imported.recording, Kind::kAllocated);
  EXPECT_EQ(all.value, 900);
  EXPECT_EQ(all.interval.hi, 900);
}

TEST(Import, TcmallocRepeatsLiveNumbersInBrackets) {
  const Imported imported = read_bytes(
      "heap profile: 1: 4096 [ 1: 4096] @ heap_v2/65536\n"
      " 1: 4096 [ 1: 4096] @ 0x1 0x2\n",
      "tc.heap");
  EXPECT_TRUE(profile::has_live_only(imported.recording));
  EXPECT_NEAR(bytes(imported.recording, Kind::kLiveAtEnd).value, weight(4096, 65536), 1e-6);
}

TEST(Import, SymbolsOfJeprofName) {
  const Imported imported = read_bytes(
      "--- symbol\nbinary=/bin/server\n0x10 leaf\n0x1f outer--inner\n---\n--- heap\n"
      "heap profile: 1: 100 [ 1: 100] @ heap_v2/1\n 1: 100 [ 1: 100] @ 0x10 0x20\n",
      "raw.prof");
  ASSERT_TRUE(imported.errors.empty()) << imported.errors[0].text();
  const Recording& recording = imported.recording;
  const profile::Location& caller = recording.locations[recording.stacks[0].locations[1]];
  ASSERT_EQ(caller.frames.size(), 2U);
  EXPECT_EQ(recording.frames[caller.frames[0]].function, "inner");
  EXPECT_EQ(recording.frames[caller.frames[1]].function, "outer");
  EXPECT_TRUE(recording.is_symbolized);
}

TEST(Import, HeapTextOfGeigerHasNamesCommentsAndBytesAlone) {
  const Imported imported = read_bytes(
      "--- symbol\nbinary=/bin/a\n0x1010 main--inlined\n---\n"
      "heap profile: 2: 200 [ 4: 400] @ heap_v2/1024\n"
      "# a comment\n"
      " 2: 200 [ 4: 400] @ 0x1010\n"
      " 0: 5000 [ 0: 7000] @ 0x1010\n",
      "own.heap");
  ASSERT_TRUE(imported.errors.empty()) << imported.errors[0].text();
  const Recording& recording = imported.recording;
  const double unscaled = weight(100, 1024);
  const estimation::Estimate live = bytes(recording, Kind::kLiveAtEnd);
  EXPECT_NEAR(live.value, 5000 + 2 * unscaled, 1e-6 * live.value);
  EXPECT_GE(live.interval.lo, 5000);
  EXPECT_NEAR(bytes(recording, Kind::kAllocated).value, 7000 + 4 * unscaled, 0.01);
  ASSERT_EQ(recording.stacks.size(), 1U);
  const auto& frames = recording.locations[recording.stacks[0].locations[0]].frames;
  ASSERT_EQ(frames.size(), 2U);
  EXPECT_EQ(recording.frames[frames[0]].function, "inlined");
}

TEST(Import, StacksThatWereCutAreReadBack) {
  const Imported imported = read_bytes(
      "--- symbol\nbinary=/bin/a\n0x1010 leaf\n0x1 [truncated]\n---\n"
      "heap profile: 4: 400 [ 4: 400] @ heap_v2/1024\n"
      " 2: 200 [ 2: 200] @ 0x1010 0x1\n"
      " 2: 200 [ 2: 200] @ 0x1010\n",
      "own.heap");
  const std::vector<profile::Stack>& stacks = imported.recording.stacks;
  ASSERT_EQ(stacks.size(), 2U);
  EXPECT_TRUE(stacks[0].is_truncated);
  EXPECT_FALSE(stacks[1].is_truncated);
  EXPECT_EQ(stacks[0].locations, stacks[1].locations);
}

TEST(Import, DamagedTextSaysTheLine) {
  const auto reason = [](const char* text) {
    const Imported imported = read_bytes(text, "f");
    return imported.errors.empty() ? "" : imported.errors[0].text();
  };
  EXPECT_THAT(reason("heap_v2/x\n"), HasSubstr("line 1"));
  EXPECT_THAT(reason("heap_v2/0\n"), HasSubstr("line 1"));
  EXPECT_THAT(reason("heap_v2/9\n@ 0x1\n  t*: 1: x [0: 0]\n"), HasSubstr("f: line 3"));
  EXPECT_THAT(reason("heap_v2/9\n@ 0x1 zz\n"), HasSubstr("line 2"));
  EXPECT_THAT(reason("heap profile: 1: 1 [1: 1] @ growthz\n"), HasSubstr("'growthz'"));
  EXPECT_THAT(reason("v 10400 9\n"), HasSubstr("version 9"));
  EXPECT_THAT(reason("v 10400 3\n+ 0\n"), HasSubstr("line 2"));
  EXPECT_THAT(reason("v 10400 3\nt 1 0\n"), HasSubstr("line 2"));
  EXPECT_THAT(reason("v 10400 3\ni 1 0\nt 1 1\n"), HasSubstr("line 3"));
  EXPECT_THAT(reason("v 10400 3\na 8 1\n"), HasSubstr("line 2"));
  EXPECT_THAT(reason("hello"), HasSubstr("not a profile of a known kind"));
}

TEST(Import, NegativeRowsAreLeftOut) {
  const Imported imported = read_bytes(
      "heap profile:   3:  300 [  5:  500] @ heapprofile\n"
      "     0:  -3145728 [     0:        0] @ 0x1\n"
      "    -1:      -100 [     0:        0] @ 0x2\n"
      "     3:       300 [     5:      500] @ 0x3\n",
      "mm.heap");
  ASSERT_TRUE(imported.errors.empty()) << imported.errors[0].text();
  EXPECT_EQ(bytes(imported.recording, Kind::kLiveAtEnd).value, 300);
  EXPECT_THAT(imported.origins[0].notes, Contains(HasSubstr("2 rows with negative numbers")));
}

/// As runtime/pprof writes it with debug=1: the header has twice the interval, values are those of
/// samples, and comments name the calls.
TEST(Import, TextOfGoHasNamesAndIsScaled) {
  const Imported imported = read_bytes(
      "heap profile: 2: 2048 [3: 3072] @ heap/2048\n"
      "2: 2048 [3: 3072] @ 0x4001 0x4002 0x4002\n"
      "#\t0x4000\tmain.inner+0x10\t\t/src/a.go:7\n"
      "#\t0x4000\tmain.outer+0x20\t\t/src/a.go:12\n"
      "#\t0x4001\tmain.recurse+0x21\t/src/a.go:20\n"
      "#\t0x4001\tmain.recurse+0x21\t/src/a.go:20\n"
      "\n"
      "# runtime.MemStats\n# Alloc = 1\n",
      "go.heap");
  ASSERT_TRUE(imported.errors.empty()) << imported.errors[0].text();
  const Recording& recording = imported.recording;
  const double expected = 2 * weight(1024, 1024);
  EXPECT_NEAR(bytes(recording, Kind::kLiveAtEnd).value, expected, 1e-6 * expected);
  const auto& locations = recording.stacks.at(recording.tallies.at(0).alike.stack).locations;
  ASSERT_EQ(locations.size(), 3U);
  std::vector<std::string> names;
  for (const std::uint32_t location : locations) {
    for (const std::uint32_t frame : recording.locations[location].frames) {
      names.push_back(recording.frames[frame].function + ":" +
                      std::to_string(recording.frames[frame].line));
    }
  }
  EXPECT_THAT(names,
              ElementsAre("main.inner:7", "main.outer:12", "main.recurse:20", "main.recurse:20"));
}

TEST(Import, TextBeforeAHeaderIsSkipped) {
  for (const char* before : {"\xef\xbb\xbf", "<jemalloc>: Leak summary\n", "# comment\n\n"}) {
    const Imported imported = read_bytes(std::string(before) + kJemallocText, "je.heap");
    ASSERT_TRUE(imported.errors.empty()) << before << imported.errors[0].text();
    EXPECT_EQ(bytes(imported.recording, Kind::kLiveAtEnd).samples, 13U);
  }
}

TEST(Import, OtherFilesAreNamed) {
  const std::string path = testing::TempDir() + "geiger_other_kind";
  const auto refusal = [&](std::string_view text) {
    std::ofstream(path, std::ios::binary) << text;
    return refusal_of(path);
  };
  EXPECT_THAT(refusal("desc: (none)\ncmd: ./a\n"), HasSubstr("is a massif file"));
  EXPECT_THAT(refusal("# callgrind format\n"), HasSubstr("is a callgrind file"));
  EXPECT_THAT(refusal("PERFILE2"), HasSubstr("geiger reads pprof"));
  EXPECT_THAT(refusal(std::string("\x7f"
                                  "ELF\2\1\1",
                                  7)),
              HasSubstr("core dump"));
  EXPECT_THAT(refusal("\xfd"
                      "7zXZ"),
              HasSubstr("compressed by xz"));
  EXPECT_EQ(refusal("heap_v2/1\n"), "");
  EXPECT_EQ(refusal("anything"), "");
  std::remove(path.c_str());
}

constexpr const char* kHeaptrackText =
    "v 10400 3\nX ./prog arg\nI 1000 5e2922\n"
    "s 4 main\ns 4 leaf\ns 5 in.cc\ns 5 inner\n"
    "i 10 0 1 3 7\ni 20 0 4 3 9 2 3 8\nt 1 0\nt 2 1\n"
    "a 64 2\na 0 2\n"
    "+ 0\n+ 0\nc a\n- 0\n+ 1\n+ 0\nc 14\n";

TEST(Import, HeaptrackIsFollowedExactly) {
  const Imported imported = read_bytes(kHeaptrackText, "ht");
  ASSERT_TRUE(imported.errors.empty()) << imported.errors[0].text();
  const Recording& recording = imported.recording;
  EXPECT_EQ(bytes(recording, Kind::kAllocated).value, 300);
  EXPECT_EQ(bytes(recording, Kind::kLiveAtEnd).value, 200);
  EXPECT_EQ(bytes(recording, Kind::kLiveAtPeak).value, 200);
  EXPECT_EQ(recording.samples[1].free_time - ForeignProcess::kStart, 10'000'000U);
  EXPECT_EQ(recording.processes[0].executable, "./prog");
  const auto& stack = recording.stacks[recording.samples[0].stack];
  ASSERT_EQ(stack.locations.size(), 2U);
  const auto& leaf = recording.locations[stack.locations[0]];
  EXPECT_EQ(recording.frames[leaf.frames[0]].function, "inner");
  EXPECT_EQ(recording.frames[leaf.frames[1]].function, "leaf");
  EXPECT_EQ(recording.frames[leaf.frames[1]].line, 8U);
}

TEST(Import, TooManyAllocationsAreCounted) {
  Recording recording;
  ingest::Interner interner(recording);
  ForeignProcess process(recording, interner, "ht");
  Origin origin;
  std::string_view left = kHeaptrackText;
  ByteSource source("ht", [&](std::span<std::byte> buffer) {
    const std::size_t count = std::min(buffer.size(), left.size());
    std::copy_n(reinterpret_cast<const std::byte*>(left.data()), count, buffer.data());
    left.remove_prefix(count);
    return count;
  });
  Lines lines(source);
  EXPECT_TRUE(read_heaptrack(lines, recording, process, origin, 2).has_value());
  EXPECT_TRUE(recording.samples.empty());
  EXPECT_TRUE(recording.processes[0].is_aggregated);
  EXPECT_EQ(bytes(recording, Kind::kAllocated).value, 300);
  EXPECT_EQ(bytes(recording, Kind::kLiveAtEnd).value, 200);
}

/// A pprof message of one stack "leaf < main", piece by piece.
class Message {
 public:
  explicit Message(std::vector<std::pair<std::string, std::string>> types) {
    for (const auto& [type, unit] : types) value_type(1, type, unit);
  }
  void period(std::int64_t period) {
    value_type(11, "space", "bytes");
    writer_.add_int64(12, period);
  }
  void sample(const std::vector<std::int64_t>& values, std::int64_t size = 0,
              std::uint64_t location = 1) {
    protozero::pbf_writer sample(writer_, 2);
    const std::vector<std::uint64_t> locations{location};
    sample.add_packed_uint64(1, locations.begin(), locations.end());
    sample.add_packed_int64(2, values.begin(), values.end());
    if (size == 0) return;
    protozero::pbf_writer label(sample, 3);
    label.add_int64(1, text("bytes"));
    label.add_int64(3, size);
  }
  std::string finish() {
    {
      protozero::pbf_writer location(writer_, 4);
      location.add_uint64(1, 1);
      protozero::pbf_writer line(location, 4);
      line.add_uint64(1, 1);
      line.add_int64(2, 42);
    }
    {
      protozero::pbf_writer function(writer_, 5);
      function.add_uint64(1, 1);
      function.add_int64(2, text("leaf"));
    }
    for (const std::string& each : texts_) writer_.add_string(6, each);
    return bytes_;
  }

 private:
  std::int64_t text(const std::string& wanted) {
    for (std::size_t i = 0; i < texts_.size(); ++i) {
      if (texts_[i] == wanted) return static_cast<std::int64_t>(i);
    }
    texts_.push_back(wanted);
    return static_cast<std::int64_t>(texts_.size() - 1);
  }
  void value_type(std::uint32_t field, const std::string& type, const std::string& unit) {
    protozero::pbf_writer value(writer_, field);
    value.add_int64(1, text(type));
    value.add_int64(2, text(unit));
  }

  std::string bytes_;
  protozero::pbf_writer writer_{bytes_};
  std::vector<std::string> texts_{""};
};

const std::vector<std::pair<std::string, std::string>> kGoTypes{{"alloc_objects", "count"},
                                                                {"alloc_space", "bytes"},
                                                                {"inuse_objects", "count"},
                                                                {"inuse_space", "bytes"}};

/// As Go's runtime scales what it has sampled: both numbers rounded down.
std::vector<std::int64_t> scaled(std::int64_t allocated, std::int64_t live, double size,
                                 double period) {
  const double scale = 1 / -std::expm1(-size / period);
  const auto number = [&](double count) { return static_cast<std::int64_t>(count * scale); };
  const auto n = static_cast<double>(allocated);
  const auto m = static_cast<double>(live);
  return {number(n), number(n * size), number(m), number(m * size)};
}

TEST(Import, GoValuesAreUnscaledToSamples) {
  Message message(kGoTypes);
  message.sample(scaled(7, 3, 48, 524288), 48);
  message.sample(scaled(2, 2, 1048576, 524288), 1048576);
  message.period(524288);
  const Imported imported = read_bytes(message.finish(), "go.pb");
  ASSERT_TRUE(imported.errors.empty()) << imported.errors[0].text();
  const estimation::Estimate all = bytes(imported.recording, Kind::kAllocated);
  EXPECT_EQ(all.samples, 9U);
  EXPECT_NEAR(all.value, 7 * weight(48, 524288) + 2 * weight(1048576, 524288), 1);
  EXPECT_EQ(bytes(imported.recording, Kind::kLiveAtEnd).samples, 5U);
}

TEST(Import, CertainObjectsOfGeigerStayCertain) {
  auto types = kGoTypes;
  types.emplace_back("samples", "count");
  types.emplace_back("inuse_samples", "count");
  Message message(types);
  message.sample({2, 2000, 1, 1000, 2, 1}, 1000);
  message.period(1000);
  const Imported imported = read_bytes(message.finish(), "own.pb");
  const estimation::Estimate all = bytes(imported.recording, Kind::kAllocated);
  EXPECT_EQ(all.value, 2000);
  EXPECT_EQ(all.exact, 2000);
  EXPECT_EQ(bytes(imported.recording, Kind::kLiveAtEnd).exact, 1000);
}

TEST(Import, UnscalingIsExactForEveryCount) {
  for (const double size : {1.0, 16.0, 1000.0, 70000.0, 524288.0, 5e6}) {
    const double pi = -std::expm1(-size / 524288);
    for (std::uint64_t count = 1; count < 2000; ++count) {
      const auto value = static_cast<std::int64_t>(static_cast<double>(count) / pi);
      EXPECT_EQ(unscaled(value, pi), count) << size;
    }
  }
  EXPECT_EQ(unscaled(0, 0.5), 0U);
  EXPECT_EQ(unscaled(-5, 0.5), 0U);
}

TEST(Import, WithoutPeriodThereAreNoIntervals) {
  Message message({{"objects", "count"}, {"space", "bytes"}});
  message.sample({10, 1000});
  const Imported imported = read_bytes(message.finish(), "x.pb");
  ASSERT_TRUE(imported.errors.empty());
  const estimation::Estimate live = bytes(imported.recording, Kind::kLiveAtEnd);
  EXPECT_EQ(live.value, 1000);
  EXPECT_EQ(live.interval.lo, 1000);
  EXPECT_THAT(imported.origins[0].notes[0], HasSubstr("without intervals"));
}

TEST(Import, ValuesThatNoSamplesGiveStandAsTheyAre) {
  Message message({{"inuse_objects", "count"}, {"inuse_space", "bytes"}});
  message.sample({10, 10 * 100});  // As sampled, not scaled up: one sample is 5,243 objects.
  message.period(524288);
  const Imported imported = read_bytes(message.finish(), "raw.pb");
  EXPECT_EQ(bytes(imported.recording, Kind::kLiveAtEnd).value, 1000);
  EXPECT_THAT(imported.origins[0].notes[0], HasSubstr("do not match samples"));
}

TEST(Import, ContradictionsOfPprofAreNamed) {
  const auto reason = [](const std::string& bytes) {
    const Imported imported = read_bytes(bytes, "p", Format::kPprof);
    return imported.errors.empty() ? "" : imported.errors[0].text();
  };
  Message cpu({{"samples", "count"}, {"cpu", "nanoseconds"}});
  EXPECT_THAT(reason(cpu.finish()), HasSubstr("contains samples/count, cpu/nanoseconds"));
  Message difference({{"objects", "count"}, {"space", "bytes"}});
  difference.sample({1, -5});
  EXPECT_THAT(reason(difference.finish()), HasSubstr("negative"));
  Message few({{"objects", "count"}, {"space", "bytes"}});
  few.sample({1});
  EXPECT_THAT(reason(few.finish()), HasSubstr("1 values for 2 sample types"));
  Message nowhere({{"objects", "count"}, {"space", "bytes"}});
  nowhere.sample({1, 5}, 0, 9);
  EXPECT_THAT(reason(nowhere.finish()), HasSubstr("location 9, which is missing"));
  EXPECT_THAT(reason("\x0a\xff\xff\xff\xff"), HasSubstr("damaged"));
  EXPECT_THAT(reason(""), HasSubstr("no sample types"));
}

std::string gzipped(const std::string& text) {
  std::string out(compressBound(text.size()) + 64, '\0');
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::string zstd_of(const std::string& text) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 3));
  return out;
}

TEST(Import, CompressedFilesReadTheSame) {
  for (const std::string& packed : {gzipped(kHeaptrackText), zstd_of(kHeaptrackText)}) {
    const Imported imported = read_bytes(packed, "ht");
    ASSERT_TRUE(imported.errors.empty()) << imported.errors[0].text();
    EXPECT_EQ(bytes(imported.recording, Kind::kAllocated).value, 300);
    for (std::size_t cut = 20; cut < packed.size(); cut += 7) {
      const Imported part = read_bytes(packed.substr(0, cut), "ht", Format::kHeaptrack);
      EXPECT_FALSE(part.errors.empty()) << cut;
    }
  }
  // Members of gzip one after another are one text.
  const std::string text = kHeaptrackText;
  const Imported twice = read_bytes(gzipped(text.substr(0, 40)) + gzipped(text.substr(40)), "ht");
  EXPECT_EQ(bytes(twice.recording, Kind::kAllocated).value, 300);
}

TEST(Import, MuchOutOfLittleStops) {
  const std::string bomb = gzipped("heap_v2/1\n" + std::string(std::size_t{40} << 20, 'x'));
  const Imported imported = read_bytes(bomb, "bomb");
  ASSERT_EQ(imported.errors.size(), 1U);
  EXPECT_THAT(imported.errors[0].text(), HasSubstr("line 2: longer than 4 MiB"));
}

}  // namespace
}  // namespace geiger::imports
