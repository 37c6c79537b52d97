#include "analysis/ingest/ingest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "analysis/ingest/decode/interner.h"
#include "analysis/ingest/decode/segment_sink.h"
#include "analysis/ingest/test_files.h"
#include "trace/test_trace.h"

namespace geiger::ingest {
namespace {

using profile::Ending;
using profile::kNone;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using trace::Ref;
using trace::TestTrace;

struct Ingest : ::testing::Test {
  TestFiles files;

  Ingested read(const std::vector<std::byte>& image, const std::string& name = "t.geiger") const {
    const std::string paths[] = {files.write(name, image)};
    return read_recording(paths);
  }
};

/// Two samples of one stack in one module, one of them freed.
TestTrace small_trace() {
  TestTrace trace;
  const Ref epoch = trace.epoch(1024);
  trace.thread(1, 4711, {.bytes = 4096, .trials = 4000, .hits = 2, .armed = 77, .pending = 5});
  trace.module("/lib/libx.so", "\x12\xab", 0x1000, 0x2000, 0x1000);
  const Ref stack = trace.stack({0x1010, 0x1020, 0x9000});
  const Ref sample = trace.sample({.stack = stack, .epoch = epoch, .thread = 1});
  trace.sample({.time = 2500, .stack = stack, .epoch = epoch, .requested = 99, .thread = 1});
  trace.free(sample, 3000, 0, 1);
  trace.thread_name(1, "worker");
  return trace;
}

TEST_F(Ingest, KnowsTheFirstAndTheLastNameOfAThread) {
  TestTrace trace = small_trace();
  EXPECT_EQ(read(trace.bytes()).recording.threads[0].earlier_name, "");
  trace.thread_name(1, "io-1");
  trace.thread_name(1, "io-2");
  const Ingested result = read(trace.bytes());
  EXPECT_EQ(result.recording.threads[0].name, "io-2");
  EXPECT_EQ(result.recording.threads[0].earlier_name, "worker");
}

TEST_F(Ingest, DecodesMappings) {
  using Kind = profile::MappingEvent::Kind;
  TestTrace trace;
  trace.epoch(1024);
  const Ref stack = trace.stack({0x1010});
  TestTrace::Mapped map;
  map.time = 10;
  map.stack = stack;
  map.kind = trace::MappingKind::kMap;
  map.address = 0x7000;
  map.bytes = 100;
  trace.mapping(map);
  TestTrace::Mapped remap;
  remap.time = 30;
  remap.kind = trace::MappingKind::kRemap;
  remap.old_address = 0x7000;
  remap.protection = 1000;
  trace.mapping(remap);
  map.kind = trace::MappingKind::kProtect;
  map.protection = 5;
  trace.mapping(map);
  map.kind = trace::MappingKind{77};
  trace.mapping(map);
  const Ingested result = read(trace.bytes());
  const auto& mappings = result.recording.mappings;
  ASSERT_EQ(mappings.size(), 3U);
  EXPECT_EQ(mappings[0].kind, Kind::kMap);
  EXPECT_EQ(mappings[0].protection, 3);
  EXPECT_EQ(mappings[0].stack, 0U);
  EXPECT_EQ(mappings[0].took, 0U);
  EXPECT_EQ(mappings[1].took, 1000U);  // Not its protection.
  EXPECT_EQ(mappings[1].protection, 0);
  EXPECT_EQ(mappings[1].old_address, 0x7000U);
  EXPECT_EQ(mappings[2].kind, Kind::kProtect);
  EXPECT_EQ(mappings[2].protection, 5);
  EXPECT_EQ(result.recording.processes[0].page_bytes, 4096U);
  EXPECT_FALSE(result.recording.warnings.empty());  // About the unknown kind.
}

TEST_F(Ingest, DecodesATrace) {
  const Ingested result = read(small_trace().bytes());
  const auto& recording = result.recording;
  EXPECT_FALSE(result.damaged);
  EXPECT_THAT(recording.warnings, IsEmpty());
  ASSERT_EQ(recording.processes.size(), 1U);
  EXPECT_EQ(recording.processes[0].executable, "/bin/target");
  EXPECT_EQ(recording.processes[0].started_as, "started");
  EXPECT_EQ(recording.processes[0].ending, Ending::kExited);
  EXPECT_EQ(recording.processes[0].records, 8U);
  EXPECT_EQ(recording.processes[0].end, 9000U);
  ASSERT_EQ(recording.samples.size(), 2U);
  EXPECT_EQ(recording.samples[0].free_time, 3000U);
  EXPECT_EQ(recording.samples[0].free_thread, 0U);
  EXPECT_EQ(recording.samples[1].free_time, 0U);
  EXPECT_EQ(recording.samples[1].free_thread, kNone);
  EXPECT_EQ(recording.samples[1].requested, 99U);
  EXPECT_EQ(recording.samples[1].log2_alignment, 4);
  ASSERT_EQ(recording.threads.size(), 1U);
  EXPECT_EQ(recording.threads[0].name, "worker");
  EXPECT_EQ(recording.threads[0].bytes, 4101U);
  EXPECT_EQ(recording.threads[0].trials, 4005U);
  EXPECT_EQ(recording.threads[0].armed, 77U);
  ASSERT_EQ(recording.modules.size(), 1U);
  EXPECT_EQ(recording.modules[0].build_id, "12ab");
  ASSERT_EQ(recording.stacks.size(), 1U);
  ASSERT_EQ(recording.locations.size(), 3U);
  EXPECT_EQ(recording.locations[0].vaddr, 0x10U);
  EXPECT_EQ(recording.locations[2].module, kNone);
  EXPECT_EQ(recording.locations[2].vaddr, 0x9000U);
  ASSERT_EQ(recording.epochs.size(), 1U) << "the header's interval is that of the record";
  EXPECT_EQ(recording.epochs[0].interval, 1024U);
}

TEST_F(Ingest, SharesModulesAndStacksBetweenProcesses) {
  TestTrace other;
  const Ref epoch = other.epoch(1024);
  other.module("/lib/libx.so", "\x12\xab", 0x701000, 0x702000, 0x701000);
  const Ref same = other.stack({0x701010, 0x701020});
  const Ref apart = other.stack({0x701010, 0x9000});
  other.sample({.stack = same, .epoch = epoch});
  other.sample({.stack = apart, .epoch = epoch});
  TestTrace first;
  const Ref first_epoch = first.epoch(1024);
  first.module("/lib/libx.so", "\x12\xab", 0x1000, 0x2000, 0x1000);
  first.sample({.stack = first.stack({0x1010, 0x1020}), .epoch = first_epoch});
  first.sample({.stack = first.stack({0x1010, 0x9000}), .epoch = first_epoch});
  const std::string paths[] = {files.write("a.geiger", first.bytes()),
                               files.write("b.geiger", other.bytes())};
  const auto recording = read_recording(paths).recording;
  EXPECT_EQ(recording.modules.size(), 1U);
  ASSERT_EQ(recording.samples.size(), 4U);
  EXPECT_EQ(recording.samples[0].stack, recording.samples[2].stack);
  EXPECT_NE(recording.samples[1].stack, recording.samples[3].stack)
      << "addresses outside modules belong to their process";
  EXPECT_EQ(recording.samples[2].process, 1U);
}

TEST_F(Ingest, ALaterModuleTakesTheAddressesOver) {
  TestTrace trace;
  trace.module("/lib/old.so", "", 0x1000, 0x3000, 0x1000);
  trace.stack({0x1800});
  trace.module("/lib/new.so", "", 0x1000, 0x2000, 0);
  trace.stack({0x1800, 0x2800});
  const auto recording = read(trace.bytes()).recording;
  ASSERT_EQ(recording.locations.size(), 3U);
  EXPECT_EQ(recording.locations[0].module, 0U);
  EXPECT_EQ(recording.locations[1].module, 1U);
  EXPECT_EQ(recording.locations[1].vaddr, 0x1800U);
  EXPECT_EQ(recording.locations[2].module, 0U);
}

TEST_F(Ingest, AReturnAddressAtTheEndBelongsToTheCallBeforeIt) {
  TestTrace trace;
  trace.module("/lib/x.so", "", 0x1000, 0x2000, 0);
  trace.stack({0x2000, 0x1000});
  const auto recording = read(trace.bytes()).recording;
  EXPECT_EQ(recording.locations[0].module, 0U);
  EXPECT_EQ(recording.locations[1].module, kNone);
}

TEST_F(Ingest, LeavesOutTheRuntimesOwnFrames) {
  TestTrace trace;
  trace.epoch(1024);
  trace.module("/opt/geiger/libgeiger-preload.so", "", 0x1000, 0x2000, 0);
  trace.module("/bin/target", "", 0x5000, 0x6000, 0);
  trace.stack({0x1010, 0x5010, 0x1020, 0x5020});
  const auto recording = read(trace.bytes()).recording;
  ASSERT_EQ(recording.stacks.size(), 1U);
  ASSERT_EQ(recording.stacks[0].locations.size(), 2U);
  for (const std::uint32_t location : recording.stacks[0].locations) {
    EXPECT_EQ(recording.modules[recording.locations[location].module].path, "/bin/target");
  }
}

TEST_F(Ingest, WarnsAboutWhatMakesNoSense) {
  TestTrace trace = small_trace();
  const Ref sample = trace.sample({.stack = 12345, .requested = 5});
  trace.free(sample, 1);
  trace.free(sample, 2);
  trace.free(77777, 2);
  trace.sample({.epoch = 99});
  const std::uint64_t rate_of_another[] = {1, 4096, std::bit_cast<std::uint64_t>(0.25)};
  const Ref bent = trace.append(trace::RecordType::kEpoch, rate_of_another);
  trace.sample({.epoch = bent});
  const Ingested result = read(trace.bytes());
  EXPECT_FALSE(result.damaged);
  EXPECT_THAT(
      result.recording.warnings,
      ElementsAre(HasSubstr("without a known interval"),
                  HasSubstr("stacks that were never written"),
                  HasSubstr("1 frees of samples that are not in"), HasSubstr("1 repeated frees"),
                  HasSubstr("1 intervals with a wrong rate")));
  ASSERT_EQ(result.recording.samples.size(), 4U);
  EXPECT_EQ(result.recording.samples[2].free_time, 2000U) << "not before it was allocated";
  EXPECT_NEAR(result.recording.epochs.back().lambda, 1 / 4096.0, 1e-6);
}

TEST_F(Ingest, DecodesWhatProgramsSay) {
  TestTrace trace;
  trace.thread(1, 4711, {});
  const Ref request = trace.name(trace::NameKind::kLabel, 0, "request");
  const Ref tenant = trace.name(trace::NameKind::kLabel, request, "tenant=acme");
  const Ref type = trace.name(trace::NameKind::kType, 0, "Order");
  trace.name(trace::NameKind::kHeap, 3, "pool");
  trace.mark("warm", 2100, 1);
  const Ref stack = trace.stack({0x9000});
  const Ref own = trace.sample({.thread = 1, .label = tenant, .type = type});
  const Ref pooled = trace.sample({.time = 2200, .label = request, .heap = 3});
  trace.sample({.time = 2300, .heap = 7});
  trace.free(pooled, 2900);
  trace.mapping({.time = 2400, .stack = stack, .bytes = 8192, .thread = 1});
  trace.utilization(own, 4096, 1024);
  trace.residency(own, 0, 2600);
  const Ingested result = read(trace.bytes());
  const auto& recording = result.recording;
  EXPECT_THAT(recording.warnings, IsEmpty());
  ASSERT_EQ(recording.labels.size(), 2U);
  EXPECT_EQ(recording.labels[0], (profile::ScopedLabel{"request", kNone}));
  EXPECT_EQ(recording.labels[1], (profile::ScopedLabel{"tenant=acme", 0}));
  ASSERT_EQ(recording.samples.size(), 1U) << "samples of other heaps stand by themselves";
  EXPECT_EQ(recording.samples[0].label, 1U);
  EXPECT_EQ(recording.samples[0].heap, profile::kProcessHeap);
  EXPECT_EQ(recording.types.at(recording.samples[0].type).text, "Order");
  ASSERT_EQ(recording.heap_samples.size(), 2U);
  EXPECT_EQ(recording.heaps.at(recording.heap_samples[0].heap).text, "pool");
  EXPECT_EQ(recording.heap_samples[0].label, 0U);
  EXPECT_EQ(recording.heap_samples[0].free_time, 2900U);
  EXPECT_EQ(recording.heaps.at(recording.heap_samples[1].heap).text, "heap 7");
  ASSERT_EQ(recording.marks.size(), 1U);
  EXPECT_EQ(recording.marks[0].name, "warm");
  EXPECT_EQ(recording.marks[0].time, 2100U);
  EXPECT_EQ(recording.marks[0].thread, 0U);
  ASSERT_EQ(recording.mappings.size(), 1U);
  EXPECT_EQ(recording.mappings[0].kind, profile::MappingEvent::Kind::kMap);
  EXPECT_EQ(recording.mappings[0].bytes, 8192U);
  EXPECT_EQ(recording.mappings[0].protection, 3U);
  EXPECT_EQ(recording.mappings[0].flags, 0x22U);
  EXPECT_EQ(recording.mappings[0].stack, 0U);
  EXPECT_EQ(recording.mappings[0].thread, 0U);
  ASSERT_EQ(recording.utilization.size(), 1U);
  EXPECT_EQ(recording.utilization[0].sample, 0U);
  EXPECT_EQ(recording.utilization[0].slab_bytes, 4096U);
  ASSERT_EQ(recording.residency_answers.size(), 1U);
  EXPECT_EQ(recording.residency_answers[0].sample, 0U);
  EXPECT_EQ(recording.residency_answers[0].time, 2600U);
  EXPECT_EQ(recording.residency_answers[0].resident, 0U);
}

TEST_F(Ingest, IgnoresResidencyThatCannotBe) {
  TestTrace trace;
  const Ref own = trace.sample({.requested = 5000});
  const Ref pooled = trace.sample({.heap = 3});
  trace.residency(own, 5000, 2600);
  trace.residency(own, 5001, 2700);
  trace.residency(own, ~Bytes{0}, 2700);
  trace.residency(pooled, 1, 2700);
  trace.residency(77, 1, 2700);
  const auto recording = read(trace.bytes()).recording;
  ASSERT_EQ(recording.residency_answers.size(), 1U);
  EXPECT_EQ(recording.residency_answers[0].resident, 5000U);
  ASSERT_EQ(recording.warnings.size(), 1U);
  EXPECT_NE(recording.warnings[0].find("4 objects with impossible residency"), std::string::npos);
}

TEST_F(Ingest, AnObjectHasTheTypeThatWasReadAtItsFree) {
  constexpr auto kObject = trace::EntryPoint::kPyObjectMalloc;
  TestTrace trace;
  const Ref order = trace.name(trace::NameKind::kType, 0, "Order");
  const Ref item = trace.name(trace::NameKind::kType, 0, "Item");
  const Ref plain = trace.sample({.entry_point = kObject});
  const Ref block = trace.sample({.entry_point = trace::EntryPoint::kMalloc});
  trace.object_type(plain, order);
  for (const Ref sample : {plain, block, Ref{77}}) trace.object_type(sample, item);
  const auto recording = read(trace.bytes()).recording;
  EXPECT_EQ(recording.types.at(recording.samples[0].type).text, "Item") << "the last one";
  EXPECT_EQ(recording.samples[1].type, profile::kNone);
  ASSERT_EQ(recording.warnings.size(), 1U);
  EXPECT_NE(recording.warnings[0].find("2 types of objects that are not there"), std::string::npos);
}

TEST_F(Ingest, NamesOfSeveralProcessesAreOne) {
  const auto image = [](const char* inner) {
    TestTrace trace;
    const Ref request = trace.name(trace::NameKind::kLabel, 0, "request");
    trace.sample({.label = trace.name(trace::NameKind::kLabel, request, inner)});
    trace.name(trace::NameKind::kHeap, 1, "pool");
    trace.sample({.heap = 1});
    return trace.bytes();
  };
  const std::string paths[] = {files.write("a.geiger", image("acme")),
                               files.write("b.geiger", image("acme")),
                               files.write("c.geiger", image("zeta"))};
  const auto recording = read_recording(paths).recording;
  EXPECT_EQ(recording.labels.size(), 3U);
  EXPECT_EQ(recording.heaps.size(), 1U);
  EXPECT_EQ(recording.samples[0].label, recording.samples[1].label);
  EXPECT_NE(recording.samples[0].label, recording.samples[2].label);
}

TEST_F(Ingest, IgnoresNamesAndSlabsThatMakeNoSense) {
  TestTrace trace;
  const Ref type = trace.name(trace::NameKind::kType, 0, "Order");
  // A label within a type, one within what was never written, one within itself.
  const Ref odd = trace.name(trace::NameKind::kLabel, type, "odd");
  trace.name(trace::NameKind::kLabel, 77, "lost");
  trace.name(trace::NameKind::kLabel, static_cast<Ref>(trace.end() / 8), "own");
  trace.name(static_cast<trace::NameKind>(9), 0, "future");
  // A type for a label, a label for a type.
  const Ref sample = trace.sample({.label = type, .type = odd});
  trace.utilization(sample, 1024, 2048);
  trace.utilization(odd, 1024, 512);
  trace.mapping({.kind = static_cast<trace::MappingKind>(0)});
  const Ingested result = read(trace.bytes());
  const auto& recording = result.recording;
  EXPECT_FALSE(result.damaged);
  for (const profile::ScopedLabel& label : recording.labels) {
    EXPECT_EQ(label.parent == kNone, label.is_lost);
    EXPECT_TRUE(label.is_lost || recording.labels.at(label.parent).is_lost);
  }
  EXPECT_TRUE(recording.labels.at(recording.samples.at(0).label).is_lost);
  EXPECT_EQ(recording.samples.at(0).type, kNone);
  EXPECT_THAT(recording.utilization, IsEmpty());
  EXPECT_THAT(recording.mappings, IsEmpty());
  const auto has = [&](const char* text) {
    return std::ranges::any_of(recording.warnings, [&](const std::string& warning) {
      return warning.find(text) != std::string::npos;
    });
  };
  EXPECT_TRUE(has("6 names that were never written"))
      << ::testing::PrintToString(recording.warnings);
  EXPECT_TRUE(has("2 slabs with impossible fill counts"))
      << ::testing::PrintToString(recording.warnings);
  EXPECT_TRUE(has("unknown types")) << ::testing::PrintToString(recording.warnings);
}

// The runtime nests 16 deep; what a file claims beyond reason would cost its square.
TEST_F(Ingest, CutsLabelsThatNestWithoutEnd) {
  TestTrace trace;
  Ref label = 0;
  for (int i = 0; i < 1000; ++i) label = trace.name(trace::NameKind::kLabel, label, "again");
  trace.sample({.label = label});
  const auto recording = read(trace.bytes()).recording;
  std::size_t deepest = 0;
  for (std::uint32_t i = 0; i < recording.labels.size(); ++i) {
    std::size_t depth = 0;
    for (std::uint32_t at = i; at != kNone; at = recording.labels[at].parent) ++depth;
    deepest = std::max(deepest, depth);
  }
  EXPECT_LE(deepest, 64U);
  EXPECT_FALSE(recording.warnings.empty());
}

TEST_F(Ingest, FlagsReachTheSample) {
  TestTrace trace;
  const Ref epoch = trace.epoch(1);
  const Ref sample = trace.sample({.epoch = epoch, .is_certain = true});
  trace.free(sample, 4000, trace::kFlagUnseen);
  trace.header().mode = trace::kModePure | trace::kModeForked;
  const auto recording = read(trace.bytes()).recording;
  EXPECT_TRUE(recording.samples[0].is_certain);
  EXPECT_TRUE(recording.samples[0].free_unseen);
  EXPECT_TRUE(recording.processes[0].is_pure);
  EXPECT_TRUE(recording.processes[0].is_fork_child);
  EXPECT_TRUE(std::isinf(recording.epochs.back().lambda));
}

TEST_F(Ingest, AFreeInAForkChildLeavesTheParentsSampleAlone) {
  TestTrace parent = small_trace();
  TestTrace child;
  child.header().mode = trace::kModeForked;
  child.free(static_cast<Ref>(trace::kRecordsOffset / 8 + 34), 5000);
  const std::string paths[] = {files.write("a.geiger", parent.bytes()),
                               files.write("b.geiger", child.bytes())};
  const auto recording = read_recording(paths).recording;
  EXPECT_EQ(recording.samples[1].free_time, 0U);
  EXPECT_THAT(recording.warnings,
              ElementsAre(HasSubstr("b.geiger: 1 frees of samples that are not in")));
}

TEST_F(Ingest, AKilledProgramAndADamagedTrace) {
  TestTrace trace = small_trace();
  trace.header().state = trace::State::kSampling;
  trace.header().stop_monotonic = 0;
  trace.header().pid = 0;
  const std::uint64_t place = trace.end();
  const std::uint64_t too_deep[] = {9, 1};
  trace.append(trace::RecordType::kStack, too_deep);
  const Ingested result = read(trace.bytes());
  EXPECT_TRUE(result.damaged);
  EXPECT_EQ(result.recording.processes[0].ending, Ending::kKilled);
  EXPECT_EQ(result.recording.processes[0].end, 3000U);
  EXPECT_EQ(result.recording.samples.size(), 2U);
  EXPECT_THAT(result.recording.warnings,
              ElementsAre(files.path("t.geiger") + ": offset " + std::to_string(place) +
                          ": a stack with more frames than its record holds; "
                          "8 records before it are used"));
}

TEST_F(Ingest, NamesFilesThatAreNoTraces) {
  const auto warning_of = [&](const std::vector<std::byte>& bytes) {
    const Ingested result = read(bytes);
    EXPECT_TRUE(result.damaged);
    EXPECT_TRUE(result.recording.processes.empty());
    return result.recording.warnings.at(0);
  };
  EXPECT_THAT(warning_of({}), HasSubstr("t.geiger: empty: the disk was full"));
  EXPECT_THAT(warning_of(std::vector<std::byte>(10)), HasSubstr("too short"));
  EXPECT_THAT(warning_of(std::vector<std::byte>(8192, std::byte{'x'})),
              HasSubstr("offset 0: not a geiger trace"));
  EXPECT_THAT(warning_of(std::vector<std::byte>(8192)), HasSubstr("header was never written"));
  TestTrace future;
  future.header().version = 9;
  EXPECT_THAT(warning_of(future.bytes()), HasSubstr("version 9: this geiger reads version 1"));
  TestTrace huge;
  huge.header().capacity = trace::kMaxCapacity + 8;
  EXPECT_THAT(warning_of(huge.bytes()),
              HasSubstr("a size in the header contradicts the format (34359738376)"));
  for (const std::string& path : {files.path("missing"), std::string("/dev/null")}) {
    const std::string paths[] = {path};
    EXPECT_TRUE(read_recording(paths).damaged) << path;
  }
}

TEST_F(Ingest, ReadsARunDirectoryByName) {
  for (const char* name : {"run/b.geiger", "run/a.geiger", "run/notes.txt"}) {
    TestTrace trace;
    trace.header().pid = static_cast<unsigned char>(name[4]);
    files.write(name, trace.bytes());
  }
  const std::string paths[] = {files.path("run")};
  const auto recording = read_recording(paths).recording;
  ASSERT_EQ(recording.processes.size(), 2U);
  EXPECT_EQ(recording.processes[0].pid, 'a');
  std::filesystem::create_directory(files.path("none"));
  const std::string empty[] = {files.path("none")};
  const Ingested nothing = read_recording(empty);
  EXPECT_TRUE(nothing.damaged);
  EXPECT_THAT(nothing.recording.warnings, ElementsAre(HasSubstr("contains no traces")));
}

TEST_F(Ingest, ACutAnywhereKeepsThePrefix) {
  const auto image = small_trace().bytes();
  std::size_t samples = 0;
  for (std::size_t size = 0; size < image.size(); ++size) {
    const auto cut = std::vector(image.begin(), image.begin() + static_cast<std::ptrdiff_t>(size));
    const Ingested result = read(cut);
    ASSERT_TRUE(result.damaged) << size;
    ASSERT_EQ(result.recording.warnings.size(), 1U) << size;
    ASSERT_GE(result.recording.samples.size(), samples) << size;
    samples = result.recording.samples.size();
  }
  EXPECT_EQ(samples, 2U);
}

TEST_F(Ingest, SurvivesSeededMutations) {
  const auto sound = small_trace().bytes();
  std::mt19937_64 random(11);
  for (int round = 0; round < 2000; ++round) {
    auto image = sound;
    for (std::uint64_t left = 1 + random() % 6; left != 0; --left) {
      const bool in_header = random() % 3 == 0;
      const std::size_t start = in_header ? 0 : trace::kRecordsOffset;
      const std::size_t size = in_header ? 512 : image.size() - start;
      image[start + random() % size] = static_cast<std::byte>(random());
    }
    const Ingested result = read(image);
    ASSERT_LE(result.recording.samples.size(), 30U) << round;
    for (const auto& sample : result.recording.samples) {
      ASSERT_TRUE(sample.stack == kNone || sample.stack < result.recording.stacks.size());
      ASSERT_LT(sample.epoch, result.recording.epochs.size());
      ASSERT_TRUE(sample.thread == kNone || sample.thread < result.recording.threads.size());
    }
  }
}

TEST(ModuleMap, LaterRangesSplitEarlierOnes) {
  ModuleMap map;
  map.insert(100, {200, 0, 1});
  map.insert(120, {140, 0, 2});
  map.insert(190, {210, 0, 3});
  map.insert(50, {50, 0, 9});
  const auto at = [&](Address address) -> int {
    const Mapping* mapping = map.find(address);
    return mapping == nullptr ? 0 : static_cast<int>(mapping->module);
  };
  EXPECT_EQ(at(99), 0);
  EXPECT_EQ(at(100), 1);
  EXPECT_EQ(at(120), 2);
  EXPECT_EQ(at(139), 2);
  EXPECT_EQ(at(140), 1);
  EXPECT_EQ(at(190), 3);
  EXPECT_EQ(at(210), 0);
  map.insert(90, {205, 0, 4});
  EXPECT_EQ(at(90), 4);
  EXPECT_EQ(at(204), 4);
  EXPECT_EQ(at(205), 3);
}

TEST_F(Ingest, KeepsTheCpusOfAllocationAndFree) {
  TestTrace trace;
  const Ref epoch = trace.epoch(1024);
  const Ref sample = trace.sample({.epoch = epoch});
  const Ref free = trace.free(sample, 3000);
  const auto set_cpu = [&](Ref ref, std::uint16_t cpu) {
    std::uint64_t* word = trace.word_at(std::uint64_t{ref} * 8);
    auto header = trace::RecordHeader::unpack(*word);
    header.cpu = cpu;
    *word = header.pack();
  };
  EXPECT_EQ(read(trace.bytes()).recording.samples[0].free_cpu, trace::kUnknownCpu);
  set_cpu(sample, 5);
  set_cpu(free, 3);
  const auto recording = read(trace.bytes()).recording;
  EXPECT_EQ(recording.samples[0].cpu, 5);
  EXPECT_EQ(recording.samples[0].free_cpu, 3);
}

/// Against an array of addresses, the slow reference.
TEST(ModuleMap, AgreesWithPaintingAnArray) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 200; ++round) {
    ModuleMap map;
    std::vector<std::uint32_t> painted(64, kNone);
    for (std::uint32_t module = 0; module < 12; ++module) {
      const Address start = random() % 64;
      const Address end = std::min<Address>(64, start + random() % 20);
      map.insert(start, {end, 0, module});
      for (Address i = start; i < end; ++i) painted[i] = module;
    }
    for (Address i = 0; i < 64; ++i) {
      const Mapping* mapping = map.find(i);
      ASSERT_EQ(mapping == nullptr ? kNone : mapping->module, painted[i]) << round << ' ' << i;
    }
  }
}

TEST(RefIndex, FindsWhatWasAdded) {
  RefIndex index;
  EXPECT_EQ(index.find(0), kNone);
  for (Ref ref = 1030; ref < 100000; ref += 7) index.add(ref, ref * 2);
  for (Ref ref = 0; ref < 101000; ++ref) {
    const bool is_added = ref >= 1030 && ref < 100000 && (ref - 1030) % 7 == 0;
    ASSERT_EQ(index.find(ref), is_added ? ref * 2 : kNone) << ref;
  }
  EXPECT_EQ(index.find(0xffffffff), kNone);
}

}  // namespace
}  // namespace geiger::ingest
