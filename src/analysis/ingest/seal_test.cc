#include "analysis/ingest/seal.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <random>

#include "analysis/ingest/ingest.h"
#include "analysis/ingest/observation_chunk.h"
#include "analysis/ingest/test_files.h"
#include "analysis/ingest/traces.h"
#include "trace/test_trace.h"

namespace geiger::ingest {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;
using trace::TestTrace;

const std::string kNames(5000, 'n');

struct Seal : ::testing::Test {
  TestFiles files;

  std::string killed(const std::string& name, int samples) const {
    return files.write_killed(name, samples);
  }
  static FileOutcome store(const std::string& path, std::uint32_t image,
                           const std::string& payload) {
    return store(path, image, trace::ChunkType::kSymbols, payload);
  }
  static FileOutcome store(const std::string& path, std::uint32_t image, trace::ChunkType type,
                           const std::string& payload) {
    const ImageChunks chunks[] = {{image, {{type, payload}}}};
    return store_chunks(path, chunks);
  }
  static Ingested read(const std::string& path) {
    const std::string paths[] = {path};
    return read_recording(paths);
  }
};
using Pack = Seal;
using ChunkCodec = Seal;
using NewestRun = Seal;

std::vector<std::string> payloads(const Ingested& result) {
  std::vector<std::string> all;
  for (const SymbolPayload& payload : result.symbols) all.push_back(payload.bytes);
  return all;
}

TEST_F(Seal, GivesUnusedSpaceBackAndIsIdempotent) {
  const std::string path = killed("a.geiger", 3);
  ASSERT_TRUE(seal_trace(path).has_value());
  const std::string sealed = TestFiles::read(path);
  EXPECT_EQ(sealed.size(), trace::kRecordsOffset + 32 + 3 * sizeof(trace::SampleRecord));
  EXPECT_TRUE(seal_trace(path).has_value());
  EXPECT_EQ(TestFiles::read(path), sealed);
  const Ingested result = read(path);
  EXPECT_FALSE(result.damaged);
  EXPECT_EQ(result.recording.samples.size(), 3U);
  EXPECT_EQ(result.recording.processes[0].ending, profile::Ending::kKilled);
}

TEST_F(Seal, KeepsTheSignalThatKilled) {
  const std::string path = killed("a.geiger", 3);
  ASSERT_TRUE(store_end_signal(path, SIGKILL | trace::kEndShortOfMemory).has_value());
  ASSERT_TRUE(seal_trace(path).has_value());
  const std::string packed = files.path("packed.geiger");
  ASSERT_TRUE(pack_images(std::vector{path}, packed, false).has_value());
  for (const std::string& each : {path, packed}) {
    const Ingested result = read(each);
    EXPECT_FALSE(result.damaged);
    EXPECT_EQ(result.recording.processes[0].end_signal, static_cast<std::uint32_t>(SIGKILL));
    EXPECT_TRUE(result.recording.processes[0].was_memory_short);
  }
}

TEST_F(Seal, StoresAndReplacesSymbols) {
  const std::string path = killed("a.geiger", 3);
  ASSERT_TRUE(store(path, 0, kNames).has_value());
  EXPECT_THAT(payloads(read(path)), ElementsAre(kNames));
  EXPECT_LT(TestFiles::read(path).size(), 9000U) << "compressed";
  ASSERT_TRUE(store(path, 0, "other").has_value());
  const Ingested result = read(path);
  EXPECT_THAT(payloads(result), ElementsAre("other"));
  EXPECT_EQ(result.recording.samples.size(), 3U);
  EXPECT_THAT(result.recording.warnings, IsEmpty());
  ASSERT_TRUE(store(path, 0, "").has_value());
  EXPECT_THAT(payloads(read(path)), ElementsAre(""));
}

std::string some_observations(Nanoseconds time) {
  profile::Observations observations;
  observations.series.push_back({time, {.resident = 8192, .anonymous = 8192}, 4096});
  profile::Snapshot snapshot;
  snapshot.time = time;
  snapshot.maps[0] = {16384, 8192, 4096};
  const trace::Ref first = (trace::kRecordsOffset + 32) / 8;
  snapshot.residency = {{first, 100, 7}, {first + 8, 0, 50}, {first + 9, 1, 1}};
  snapshot.waste = {{first + 16, 12}};
  snapshot.waste_fault.clear();
  observations.last = snapshot;
  observations.last_content = {time, 9, 8192, {{first, 3, 4, 2, 5}, {first + 9, 1, 0, 1, 1}}};
  observations.content_fault = "later it ended";
  observations.types = {{"dict", "app.Node"}, {{first, 1}, {first + 9, 0}}, "a fault"};
  return encode_observations(observations);
}

TEST_F(Seal, ObservationsNameSamples) {
  const std::string path = killed("a.geiger", 3);
  ASSERT_TRUE(store(path, 0, trace::ChunkType::kObservations, some_observations(5)).has_value());
  const Ingested result = read(path);
  EXPECT_FALSE(result.damaged);
  ASSERT_EQ(result.recording.observations.size(), 1U);
  const profile::Observations& found = result.recording.observations.front();
  ASSERT_EQ(found.series.size(), 1U);
  EXPECT_EQ(found.series[0].time, 5U);
  EXPECT_EQ(found.series[0].least, 4096U);
  EXPECT_EQ(found.series[0].counts.anonymous, 8192U);
  EXPECT_FALSE(found.at_maximum);
  ASSERT_TRUE(found.last);
  EXPECT_EQ(found.last->of(profile::MapKind::kMallocHeap).swapped, 4096U);
  ASSERT_EQ(found.last->residency.size(), 2U) << "one names no sample";
  EXPECT_EQ(found.last->residency[1].sample, 1U);
  EXPECT_EQ(found.last->residency[1].swapped, 50U);
  ASSERT_EQ(found.last->waste.size(), 1U);
  EXPECT_EQ(found.last->waste[0].sample, 2U);
  EXPECT_FALSE(found.content_at_maximum);
  EXPECT_EQ(found.content_fault, "later it ended");
  ASSERT_TRUE(found.last_content);
  EXPECT_EQ(found.last_content->resident, 8192U);
  ASSERT_EQ(found.last_content->samples.size(), 1U);
  const profile::SampleContent& content = found.last_content->samples[0];
  EXPECT_EQ(content.sample, 0U);
  EXPECT_EQ(content.zero, 3U);
  EXPECT_EQ(content.unread, 4U);
  EXPECT_EQ(content.copies, 2U);
  EXPECT_EQ(content.most_copies, 5U);
}

/// Samples of Python's objects take their types from them, those of others and those that the
/// program named do not.
TEST_F(Seal, ObservationsNameTypes) {
  trace::TestTrace trace;
  const trace::Ref epoch = trace.epoch(1024);
  const trace::Ref named = trace.name(trace::NameKind::kType, 0, "Order");
  using vocabulary::EntryPoint;
  constexpr EntryPoint kObject = EntryPoint::kPyObjectMalloc;
  const trace::Ref node = trace.sample({.epoch = epoch, .entry_point = kObject});
  const trace::Ref table = trace.sample({.epoch = epoch, .entry_point = kObject});
  const trace::Ref own = trace.sample({.epoch = epoch, .type = named, .entry_point = kObject});
  const trace::Ref other = trace.sample({.epoch = epoch});
  trace.sample({.epoch = epoch, .entry_point = kObject});
  const std::string path = files.write("typed.geiger", trace.bytes());
  profile::Observations seen;
  seen.types = {{"app.Node", "dict"}, {{node, 0}, {table, 1}, {own, 1}, {other, 0}}, "a fault"};
  ASSERT_TRUE(
      store(path, 0, trace::ChunkType::kObservations, encode_observations(seen)).has_value());
  const profile::Recording recording = read(path).recording;
  std::vector<std::string> types;
  for (const profile::Sample& sample : recording.samples) {
    const bool has_type = sample.type != profile::kNone;
    types.push_back(has_type ? recording.types[sample.type].text : "");
  }
  EXPECT_THAT(types, ElementsAre("app.Node", "dict", "Order", "", ""));
  ASSERT_EQ(recording.observations.size(), 1U);
  EXPECT_EQ(recording.observations[0].types.fault, "a fault");
}

TEST_F(Seal, ObservationsHaveWalks) {
  profile::Observations seen;
  seen.walks = {{7, {{32, 5}, {2064, 40'000}}}, {9, {}}};
  seen.walk_fault = "a fault";
  const auto sample_of = [](trace::Ref) { return 0U; };
  const auto decoded = decode_observations(encode_observations(seen), sample_of);
  ASSERT_TRUE(decoded);
  ASSERT_EQ(decoded->walks.size(), 2U);
  EXPECT_EQ(decoded->walks[0].time, 7U);
  ASSERT_EQ(decoded->walks[0].in_use.size(), 2U);
  EXPECT_EQ(decoded->walks[0].in_use[1].bytes, 2064U);
  EXPECT_EQ(decoded->walks[0].in_use[1].count, 40'000U);
  EXPECT_TRUE(decoded->walks[1].in_use.empty());
  EXPECT_EQ(decoded->walk_fault, "a fault");
  seen.walks[0].in_use[1].bytes = 32;  // Not in order.
  EXPECT_FALSE(decode_observations(encode_observations(seen), sample_of));
  seen.walks.assign(profile::kMostWalks + 1, {});
  EXPECT_FALSE(decode_observations(encode_observations(seen), sample_of));
}

TEST_F(Seal, ObservationsHaveHolders) {
  profile::Observations seen;
  profile::Holders& holders = seen.holders.emplace();
  holders.time = 7;
  holders.scans = 3;
  holders.is_inferred = true;
  holders.unread = 4096;
  holders.roots = {"g_cache", "g_other", "g_third"};
  holders.beside = {profile::kNone, 2};
  holders.paths = {{}, {{{64, "", 0, false, 9}, {48, "Session", 30, true, 1}}}};
  holders.samples = {{20, profile::Hold::kReached, true, 1, 1}, {30, profile::Hold::kUnreachable}};
  seen.holders_fault = "a fault";
  const auto sample_of = [](trace::Ref ref) { return ref / 10; };
  const auto decoded = decode_observations(encode_observations(seen), sample_of);
  ASSERT_TRUE(decoded && decoded->holders);
  const profile::Holders& found = *decoded->holders;
  EXPECT_EQ(found.time, 7U);
  EXPECT_EQ(found.scans, 3U);
  EXPECT_TRUE(found.is_inferred);
  EXPECT_EQ(found.unread, 4096U);
  EXPECT_THAT(found.roots, ElementsAre("g_cache", "g_other", "g_third"));
  EXPECT_THAT(found.beside, ElementsAre(profile::kNone, 2U));
  ASSERT_EQ(found.paths.size(), 2U);
  EXPECT_TRUE(found.paths[0].steps.empty());
  ASSERT_EQ(found.paths[1].steps.size(), 2U);
  EXPECT_EQ(found.paths[1].steps[0].times, 9U);
  EXPECT_FALSE(found.paths[1].steps[0].is_sampled);
  EXPECT_EQ(found.paths[1].steps[1].type, "Session");
  EXPECT_EQ(found.paths[1].steps[1].sample, 3U);
  ASSERT_EQ(found.samples.size(), 2U);
  EXPECT_EQ(found.samples[0].sample, 2U);
  EXPECT_EQ(found.samples[0].root, 1U);
  EXPECT_TRUE(found.samples[0].is_alone);
  EXPECT_EQ(found.samples[1].hold, profile::Hold::kUnreachable);
  EXPECT_EQ(decoded->holders_fault, "a fault");
  holders.samples[0].root = 3;  // It is reached from a root without a name.
  EXPECT_FALSE(decode_observations(encode_observations(seen), sample_of));
  holders.samples[0].root = 1;
  holders.beside = {3};
  EXPECT_FALSE(decode_observations(encode_observations(seen), sample_of));
}

TEST_F(Seal, TypesThatAreNotNamedAreNoObservations) {
  profile::Observations seen;
  seen.types = {{"dict"}, {{7, 1}}, ""};
  const auto sample_of = [](trace::Ref) { return 0U; };
  EXPECT_FALSE(decode_observations(encode_observations(seen), sample_of));
  seen.types = {{"dict", "list"}, {{7, 1}}, ""};
  const auto decoded = decode_observations(encode_observations(seen), sample_of);
  ASSERT_TRUE(decoded);
  ASSERT_EQ(decoded->types.samples.size(), 1U);
  EXPECT_EQ(decoded->types.names.at(decoded->types.samples[0].type), "list");
}

TEST_F(Seal, ChunksOfOtherTypesStay) {
  const std::string path = killed("a.geiger", 3);
  ASSERT_TRUE(store(path, 0, trace::ChunkType::kObservations, some_observations(5)).has_value());
  ASSERT_TRUE(store(path, 0, kNames).has_value());   // appended
  ASSERT_TRUE(store(path, 0, "other").has_value());  // in the place of the first names
  ASSERT_TRUE(store(path, 0, trace::ChunkType::kObservations, some_observations(6)).has_value());
  const std::string inputs[] = {path};
  ASSERT_TRUE(pack_images(inputs, files.path("all.geiger"), false).has_value());
  for (const std::string& each : {path, files.path("all.geiger")}) {
    const Ingested result = read(each);
    EXPECT_FALSE(result.damaged);
    EXPECT_THAT(result.recording.warnings, IsEmpty());
    EXPECT_THAT(payloads(result), ElementsAre("other"));
    ASSERT_EQ(result.recording.observations.size(), 1U);
    EXPECT_EQ(result.recording.observations[0].series[0].time, 6U);
  }
}

/// Whatever byte of it is wrong, or wherever it ends: a warning at most, and no more
/// than a whole reading.
TEST_F(Seal, DamagedObservationsAreLeftOut) {
  const std::string path = killed("a.geiger", 3);
  ASSERT_TRUE(store(path, 0, "names").has_value());
  ASSERT_TRUE(store(path, 0, trace::ChunkType::kObservations, some_observations(5)).has_value());
  const std::string good = TestFiles::read(path);
  std::string bad = good;
  bad[bad.size() - 9] ^= 1;
  files.write("bad.geiger", std::as_bytes(std::span(bad)));
  const Ingested result = read(files.path("bad.geiger"));
  EXPECT_FALSE(result.damaged);
  EXPECT_THAT(payloads(result), ElementsAre("names"));
  EXPECT_THAT(result.recording.warnings, ElementsAre(HasSubstr("checksum")));
  EXPECT_THAT(result.recording.observations, IsEmpty());

  const std::string payload = some_observations(5);
  const auto sample_of = [](trace::Ref) { return 0U; };
  for (std::size_t size = 0; size < payload.size(); ++size) {
    static_cast<void>(decode_observations(payload.substr(0, size), sample_of));
    for (const int bit : {0, 3, 7}) {
      std::string wrong = payload;
      wrong[size] = static_cast<char>(wrong[size] ^ (1 << bit));
      static_cast<void>(decode_observations(wrong, sample_of));
    }
  }
  EXPECT_FALSE(decode_observations("\xff\xff\xff", sample_of));
}

/// Every prefix of the writes that storing makes, as a kill would leave them.
TEST_F(Seal, AKillBetweenTwoWritesLeavesAReadableTrace) {
  const std::string path = killed("a.geiger", 3);
  const std::string open = TestFiles::read(path);
  ASSERT_TRUE(store(path, 0, "names").has_value());
  const std::string done = TestFiles::read(path);
  const std::size_t end = trace::kRecordsOffset + 32 + 3 * sizeof(trace::SampleRecord);
  const std::size_t seal = offsetof(trace::FileHeader, sealed_end);
  const std::size_t size = offsetof(trace::FileHeader, image_bytes);
  std::vector<std::string> states = {open};
  const auto next = [&](auto change) {
    states.push_back(states.back());
    change(states.back());
  };
  next([&](std::string& file) { std::memcpy(&file[seal], &end, 8); });
  next([&](std::string& file) { file.resize(end); });
  next([&](std::string& file) { file.resize(end + 32), file += done.substr(end + 32); });
  next([&](std::string& file) { file.replace(end, 32, done, end, 32); });
  next([&](std::string& file) { file.replace(size, 8, done, size, 8); });
  EXPECT_EQ(states.back(), done);
  for (const std::string& state : states) {
    files.write("state.geiger", std::as_bytes(std::span(state)));
    const Ingested result = read(files.path("state.geiger"));
    EXPECT_FALSE(result.damaged);
    EXPECT_EQ(result.recording.samples.size(), 3U);
    ASSERT_TRUE(store(files.path("state.geiger"), 0, "names").has_value());
    EXPECT_EQ(TestFiles::read(files.path("state.geiger")), done);
  }
}

TEST_F(Seal, ACutTraceStaysDamaged) {
  const std::string path = killed("a.geiger", 3);
  std::filesystem::resize_file(path, trace::kRecordsOffset + 32 + 64 + 10);
  ASSERT_TRUE(store(path, 0, "names").has_value());
  const Ingested result = read(path);
  EXPECT_TRUE(result.damaged);
  EXPECT_EQ(result.recording.samples.size(), 1U);
  EXPECT_THAT(payloads(result), ElementsAre("names"));
  std::filesystem::resize_file(path, 5000);
  EXPECT_FALSE(store(path, 0, "names").has_value());
}

TEST_F(Seal, RefusesATraceThatIsStillWritten) {
  const std::string path = killed("a.geiger", 1);
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  void* mapped = ::mmap(nullptr, kMiB, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  ::close(descriptor);
  ASSERT_NE(mapped, MAP_FAILED);
  static_cast<trace::FileHeader*>(mapped)->pid = static_cast<std::uint32_t>(::getpid());
  const auto stored = store(path, 0, "names");
  EXPECT_EQ(read(path).recording.processes[0].ending, profile::Ending::kStillOpen);
  ::munmap(mapped, kMiB);
  ASSERT_FALSE(stored.has_value());
  EXPECT_THAT(stored.failure().text(), HasSubstr("is still writing this trace"));
  EXPECT_EQ(std::filesystem::file_size(path), kMiB);
  EXPECT_TRUE(store(path, 0, "names").has_value());
}

TEST_F(Seal, NamesWhatIsWrong) {
  EXPECT_THAT(seal_trace(files.path("missing")).failure().text(),
              HasSubstr("missing: cannot be opened"));
  files.write("foreign", std::as_bytes(std::span(kNames)));
  EXPECT_THAT(seal_trace(files.path("foreign")).failure().text(), HasSubstr("not a geiger trace"));
  std::filesystem::create_symlink(killed("a.geiger", 1), files.path("link.geiger"));
  EXPECT_FALSE(seal_trace(files.path("link.geiger")).has_value());
}

TEST_F(Pack, JoinsImagesAndTheirSymbols) {
  const std::string inputs[] = {killed("a.geiger", 3), killed("b.geiger", 5),
                                killed("c.geiger", 0)};
  ASSERT_TRUE(store(inputs[0], 0, "of a").has_value());
  const std::string output = files.path("all.geiger");
  ASSERT_TRUE(pack_images(inputs, output, false).has_value());
  struct stat status {};
  ASSERT_EQ(::stat(output.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
  const Ingested result = read(output);
  EXPECT_THAT(result.recording.warnings, IsEmpty());
  EXPECT_FALSE(result.damaged);
  ASSERT_EQ(result.recording.processes.size(), 3U);
  EXPECT_EQ(result.recording.samples.size(), 8U);
  EXPECT_THAT(payloads(result), ElementsAre("of a"));
  EXPECT_EQ(result.places[2].image, 2U);
}

TEST_F(Pack, SymbolsOfAPackedImageCanBeReplaced) {
  const std::string inputs[] = {killed("a.geiger", 3), killed("b.geiger", 5)};
  const std::string output = files.path("all.geiger");
  ASSERT_TRUE(pack_images(inputs, output, false).has_value());
  constexpr auto kSymbols = trace::ChunkType::kSymbols;
  const ImageChunks both[] = {{1, {{kSymbols, "of b"}}}, {0, {{kSymbols, kNames}}}};
  ASSERT_TRUE(store_chunks(output, both).has_value());
  EXPECT_THAT(payloads(read(output)), ElementsAre(kNames, "of b"));
  ASSERT_TRUE(store(output, 0, "of a").has_value());
  const Ingested result = read(output);
  EXPECT_THAT(payloads(result), ElementsAre("of a", "of b"));
  EXPECT_EQ(result.recording.samples.size(), 8U);
}

TEST_F(Pack, RefusesToOverwriteUnlessTold) {
  const std::string inputs[] = {killed("a.geiger", 3)};
  const std::string output = files.write("all.geiger", {});
  EXPECT_THAT(pack_images(inputs, output, false).failure().text(), HasSubstr("File exists"));
  EXPECT_TRUE(TestFiles::read(output).empty());
  EXPECT_TRUE(pack_images(inputs, output, true).has_value());
  EXPECT_EQ(read(output).recording.samples.size(), 3U);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(files.path("")), {}), 2);
}

TEST_F(Pack, LeavesOutWhatCannotBeRead) {
  const std::string inputs[] = {files.write("bad.geiger", std::vector(8, std::byte{'x'})),
                                killed("a.geiger", 3)};
  EXPECT_FALSE(pack_images(inputs, files.path("all.geiger"), false).has_value());
  EXPECT_EQ(read(files.path("all.geiger")).recording.samples.size(), 3U);
  EXPECT_FALSE(
      pack_images(std::span(inputs).first(1), files.path("none.geiger"), false).has_value());
  EXPECT_FALSE(std::filesystem::exists(files.path("none.geiger")));
}

TEST_F(Pack, TellsOfProcessesThatWereNeverRecorded) {
  const std::string inputs[] = {files.write("run/x.y.123.0.geiger", {}), killed("run/a.geiger", 3),
                                files.write("run/z.7.0.geiger", std::vector<std::byte>(10000))};
  const std::string output = files.path("all.geiger");
  const std::vector<Unbegun> left = read(files.path("run")).unbegun;
  EXPECT_THAT(left, UnorderedElementsAre(Unbegun{"x.y.123.0.geiger", false},
                                         Unbegun{"z.7.0.geiger", true}));
  ASSERT_TRUE(pack_images(inputs, output, false, left).has_value());
  const Ingested result = read(output);
  EXPECT_FALSE(result.damaged);
  EXPECT_EQ(result.recording.samples.size(), 3U);
  EXPECT_EQ(result.unbegun, left);
  EXPECT_THAT(result.recording.warnings,
              UnorderedElementsAre(
                  HasSubstr("x.y, pid 123: not recorded: the process was killed at start-up, or"),
                  HasSubstr("z, pid 7: killed before its recording began")));
  ASSERT_TRUE(store(output, 0, "names").has_value());
  EXPECT_EQ(read(output).unbegun, left);
}

TEST_F(Pack, OfNothingBegunThereIsNothing) {
  const std::string inputs[] = {files.write("run/x.123.0.geiger", {})};
  EXPECT_THAT(pack_images(inputs, files.path("all.geiger"), false).failure().text(),
              HasSubstr("nothing to pack"));
  const Ingested result = read(files.path("run"));
  EXPECT_TRUE(result.damaged);
  EXPECT_EQ(result.recording.warnings.size(), 1U);
}

TEST(Unbegun, AnyBytesAreNames) {
  const std::vector<Unbegun> all = {{"\x1b[31m<script>.1.0.geiger", true}, {"=cmd\n\xff", false}};
  EXPECT_EQ(decode_unbegun(encode_unbegun(all)), all);
  EXPECT_EQ(
      all[1].text(),
      "=cmd\n\xff: not recorded: the process was killed at start-up, or its "
      "trace file could not be created (disk full, ulimit -f), or was deleted or emptied; its "
      "allocations are not known");
  const Unbegun absent{name_of_absent("env", 17, Absence::kStatic), false};
  EXPECT_EQ(absent.name, "env.17.static.geiger");
  EXPECT_EQ(
      absent.text(),
      "env, pid 17: not recorded: it is linked statically (docs/guide/static.md); its allocations "
      "are not known");
  for (const std::string_view payload : {"", "k", "-a", "kb\0", "k\0-\0"}) {
    EXPECT_LE(decode_unbegun(payload).size(), 1U);
  }
  for (const char* name : {"", "a", "a.geiger", "a.0.geiger", "a.x.0.geiger", "a.-1.0.geiger",
                           "a.99999999999.0.geiger", "a.1x.0.geiger"}) {
    EXPECT_FALSE(process_named(name)) << name;
  }
}

TEST_F(Pack, DamageInOneImageLeavesTheNextReadable) {
  const std::string inputs[] = {killed("a.geiger", 3), killed("b.geiger", 5)};
  const std::string output = files.path("all.geiger");
  ASSERT_TRUE(pack_images(inputs, output, false).has_value());
  std::string bytes = TestFiles::read(output);
  bytes[trace::kRecordsOffset + 32 + 2] = 0;  // the size of the first sample
  files.write("all.geiger", std::as_bytes(std::span(bytes)));
  const Ingested result = read(output);
  EXPECT_TRUE(result.damaged);
  EXPECT_EQ(result.recording.processes.size(), 2U);
  EXPECT_EQ(result.recording.samples.size(), 5U);
}

TEST_F(ChunkCodec, RoundTrips) {
  std::mt19937_64 random(3);
  for (const std::size_t size : {0UL, 1UL, 7UL, 1000UL, 300000UL}) {
    std::string payload(size, '\0');
    for (char& c : payload) c = static_cast<char>(random());
    for (const std::string& text : {payload, std::string(size, 'a')}) {
      const std::string chunk = encode_chunk(trace::ChunkType::kSymbols, text);
      trace::ChunkHeader header{};
      std::memcpy(&header, chunk.data(), sizeof header);
      const std::string_view stored = std::string_view(chunk).substr(32, header.stored_bytes);
      const auto decoded = decode_chunk(header, stored);
      ASSERT_TRUE(decoded.has_value()) << decoded.reason();
      EXPECT_EQ(decoded.value(), text);
      EXPECT_EQ(chunk.size() % 8, 0U);
    }
  }
}

TEST_F(ChunkCodec, RefusesFalseSizes) {
  std::string chunk = encode_chunk(trace::ChunkType::kSymbols, kNames);
  trace::ChunkHeader header{};
  std::memcpy(&header, chunk.data(), sizeof header);
  const std::string_view stored = std::string_view(chunk).substr(32, header.stored_bytes);
  for (const std::uint64_t raw : {0UL, 1UL, kNames.size() - 1, kNames.size() + 1, 1UL << 40}) {
    header.raw_bytes = raw;
    EXPECT_EQ(decode_chunk(header, stored).reason(), "a chunk that cannot be unpacked") << raw;
  }
  header.codec = static_cast<trace::Codec>(7);
  EXPECT_FALSE(decode_chunk(header, stored).has_value());
  header.crc32 ^= 1;
  EXPECT_EQ(decode_chunk(header, stored).reason(), "a chunk whose checksum is wrong");
}

TEST_F(ChunkCodec, ABombIsNotUnpacked) {
  const std::string path = killed("a.geiger", 2);
  ASSERT_TRUE(store(path, 0, kNames).has_value());
  std::string bytes = TestFiles::read(path);
  const std::size_t chunk = bytes.find(std::string_view(trace::kChunkMagic, 4));
  ASSERT_NE(chunk, std::string::npos);
  const std::uint64_t raw = std::uint64_t{8} << 20;
  std::memcpy(&bytes[chunk + 8], &raw, sizeof raw);
  files.write("bomb.geiger", std::as_bytes(std::span(bytes)));
  const Ingested result = read(files.path("bomb.geiger"));
  EXPECT_TRUE(result.damaged);
  EXPECT_EQ(result.recording.samples.size(), 2U);
  ASSERT_EQ(result.recording.warnings.size(), 1U);
  EXPECT_THAT(result.recording.warnings[0], testing::HasSubstr("many times its size"));
}

TEST_F(ChunkCodec, WhatShrinksBeyondBeliefIsStoredAsItIs) {
  const std::string path = killed("a.geiger", 2);
  const std::string zeros(std::size_t{4} << 20, '\0');
  ASSERT_TRUE(store(path, 0, zeros).has_value());
  const Ingested result = read(path);
  EXPECT_FALSE(result.damaged);
  ASSERT_EQ(result.symbols.size(), 1U);
  EXPECT_EQ(result.symbols[0].bytes, zeros);
}

TEST_F(ChunkCodec, AMutatedChunkIsDamageAndNoMore) {
  const std::string path = killed("a.geiger", 2);
  ASSERT_TRUE(store(path, 0, kNames).has_value());
  const std::string sound = TestFiles::read(path);
  const std::size_t start = trace::kRecordsOffset + 32 + 2 * sizeof(trace::SampleRecord);
  std::size_t damaged = 0;
  for (std::size_t at = start; at < sound.size(); ++at) {
    std::string bent = sound;
    bent[at] = static_cast<char>(bent[at] ^ 0x41);
    files.write("bent.geiger", std::as_bytes(std::span(bent)));
    const Ingested result = read(files.path("bent.geiger"));
    ASSERT_EQ(result.recording.samples.size(), 2U) << at;
    ASSERT_TRUE(result.symbols.empty() || result.symbols[0].bytes == kNames) << at;
    damaged += result.damaged;
  }
  EXPECT_GT(damaged, sound.size() - start - 16) << "all but the type and the padding";
}

TEST_F(NewestRun, IsTheLastModified) {
  EXPECT_FALSE(newest_run(files.path("")));
  EXPECT_FALSE(newest_run(files.path("missing")));
  const auto age = [&](const std::string& name, int seconds) {
    std::filesystem::last_write_time(
        files.path(name),
        std::filesystem::file_time_type::clock::now() - std::chrono::seconds(seconds));
  };
  for (const char* name : {"geiger-a.1", "geiger-b.22", "geiger-bad.", "geiger-bad.x", "other.3"}) {
    std::filesystem::create_directory(files.path(name));
    age(name, 100);
  }
  age("geiger-b.22", 50);
  EXPECT_EQ(newest_run(files.path("")), files.path("geiger-b.22"));
  killed("one.geiger", 0);
  age("one.geiger", 10);
  EXPECT_EQ(newest_run(files.path("")), files.path("one.geiger"));
  age("geiger-a.1", 1);
  EXPECT_EQ(newest_run(files.path("")), files.path("geiger-a.1"));
  std::filesystem::create_directory(files.path("two.geiger.parts"));
  EXPECT_EQ(newest_run(files.path("")), files.path("geiger-a.1")) << "it has no traces";
  std::ofstream(files.path("two.geiger.parts/two.2.0.geiger")) << "a trace";
  EXPECT_EQ(newest_run(files.path("")), files.path("two.geiger.parts"));
}

}  // namespace
}  // namespace geiger::ingest
