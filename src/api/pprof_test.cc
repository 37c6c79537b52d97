// Profiles in pprof's format, read back field by field: hostile texts, samples without stacks,
// unloaded modules, files that cannot be written.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <map>
#include <protozero/pbf_reader.hpp>
#include <sstream>
#include <thread>

#include "api/test_capture.h"
#include "base/test_refusal.h"
#include "geiger/geiger.hpp"

namespace geiger::api {
namespace {

using test::fake;
using test::kInterval;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Not;
using ::testing::Pair;
using trace::NameKind;
using trace::Ref;
using trace::TestTrace;

using Labels = std::vector<std::pair<std::string, std::string>>;

/// The contents of a file, with its texts.
struct Read {
  struct Sample {
    std::vector<std::uint64_t> locations;
    std::vector<std::int64_t> values;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> label_ids;
    Labels labels;
  };
  struct Mapping {
    std::uint64_t start = 0, limit = 0, offset = 0, path_id = 0, build_id_id = 0;
    std::string path, build_id;
  };
  std::vector<std::string> texts;
  std::vector<Sample> samples;
  std::vector<Mapping> mappings;
  std::map<std::uint64_t, std::pair<std::uint64_t, std::uint64_t>>
      locations;  ///< Mapping, address.
  std::string shown;
};

template <typename Each>
void for_each_field(protozero::pbf_reader message, const Each& each) {
  while (message.next()) each(message);
}

Read::Sample read_sample(protozero::pbf_reader message) {
  Read::Sample sample;
  for_each_field(message, [&](protozero::pbf_reader& field) {
    if (field.tag() == 1) {
      for (const std::uint64_t id : field.get_packed_uint64()) sample.locations.push_back(id);
    } else if (field.tag() == 2) {
      for (const std::int64_t value : field.get_packed_int64()) sample.values.push_back(value);
    } else {
      std::uint64_t numbers[5] = {};
      for_each_field(field.get_message(),
                     [&](protozero::pbf_reader& part) { numbers[part.tag()] = part.get_uint64(); });
      if (numbers[2] != 0) sample.label_ids.emplace_back(numbers[1], numbers[2]);
    }
  });
  return sample;
}

Read::Mapping read_mapping(protozero::pbf_reader message) {
  std::uint64_t numbers[7] = {};
  for_each_field(message,
                 [&](protozero::pbf_reader& part) { numbers[part.tag()] = part.get_uint64(); });
  return {numbers[2], numbers[3], numbers[4], numbers[5], numbers[6], {}, {}};
}

Read read(const std::string& bytes) {
  Read result;
  std::uint64_t shown = 0;
  for_each_field(protozero::pbf_reader(bytes), [&](protozero::pbf_reader& field) {
    if (field.tag() == 2) {
      result.samples.push_back(read_sample(field.get_message()));
    } else if (field.tag() == 3) {
      result.mappings.push_back(read_mapping(field.get_message()));
    } else if (field.tag() == 4) {
      std::uint64_t numbers[4] = {};
      for_each_field(field.get_message(),
                     [&](protozero::pbf_reader& part) { numbers[part.tag()] = part.get_uint64(); });
      result.locations[numbers[1]] = {numbers[2], numbers[3]};
    } else if (field.tag() == 6) {
      result.texts.push_back(field.get_string());
    } else if (field.tag() == 14) {
      shown = field.get_uint64();
    } else {
      field.skip();
    }
  });
  for (Read::Sample& sample : result.samples) {
    for (const auto& [key, text] : sample.label_ids) {
      sample.labels.emplace_back(result.texts.at(key), result.texts.at(text));
    }
  }
  for (Read::Mapping& mapping : result.mappings) {
    mapping.path = result.texts.at(mapping.path_id);
    mapping.build_id = result.texts.at(mapping.build_id_id);
  }
  result.shown = result.texts.at(shown);
  return result;
}

struct Pprof : ::testing::Test {
  Pprof() {
    fake = {};
    trace.header().capacity = kGiB;
    epoch = trace.epoch(kInterval);
  }
  ~Pprof() override { fake = {}; }

  /// A snapshot of these samples.
  geiger_profile snapshot(const std::vector<Ref>& live) {
    static std::uint32_t last_image = 2'000'000;
    fake.show(trace, ++last_image);
    for (const Ref sample : live) fake.live.emplace_back(sample, sample);
    geiger_profile profile;
    EXPECT_EQ(geiger_take_snapshot(GEIGER_LIVE, &profile), GEIGER_OK);
    return profile;
  }
  static std::string written(geiger_profile profile, geiger_heap heap = 0) {
    std::string bytes;
    const auto append = [](void* context, const void* data, std::size_t size) {
      static_cast<std::string*>(context)->append(static_cast<const char*>(data), size);
      return 0;
    };
    EXPECT_EQ(geiger_write_pprof(profile, heap, append, &bytes), GEIGER_OK);
    return bytes;
  }
  Ref labelled(std::string_view text) {
    const Ref label = trace.name(NameKind::kLabel, 0, text);
    return trace.sample({.time = ++time, .epoch = epoch, .requested = time, .label = label});
  }

  TestTrace trace{kInterval};
  Ref epoch = 0;
  std::uint64_t time = 3000;
};

TEST_F(Pprof, StreamsAndStringsHaveWhatAFunctionIsGiven) {
  const Profile profile(snapshot({labelled("tenant=acme")}));
  EXPECT_EQ(profile.status(), GEIGER_OK);
  std::ostringstream out;
  EXPECT_EQ(profile.write_pprof(out), GEIGER_OK);
  const std::string expected = written(profile.get());
  for (const std::string& file : {profile.pprof(), out.str()}) {
    // Except for the time of writing in each.
    EXPECT_EQ(file.size(), expected.size());
    EXPECT_EQ(read(file).texts, read(expected).texts);
    ASSERT_EQ(read(file).samples.size(), 1);
    EXPECT_THAT(read(file).samples[0].labels, Contains(Pair("tenant", "acme")));
  }
}

TEST_F(Pprof, StreamsThatRefuseAreSaid) {
  const Profile profile(snapshot({labelled("tenant=acme")}));
  std::ofstream closed;
  EXPECT_EQ(profile.write_pprof(closed), GEIGER_FAILED_IO);
  std::ofstream throws;
  throws.exceptions(std::ios::badbit);
  EXPECT_THROW(profile.write_pprof(throws), std::ios::failure);
  const Profile none;
  EXPECT_EQ(none.status(), GEIGER_BAD_HANDLE);
  EXPECT_EQ(none.write_pprof(closed), GEIGER_BAD_HANDLE);
  EXPECT_EQ(none.pprof(), "");
}

TEST_F(Pprof, TextsAreValidWhateverTheProgramSays) {
  const std::pair<std::string_view, std::string> texts[] = {
      {"plain", "plain"},
      {"\xc3\xa9\xe2\x82\xac\xf0\x9f\xa6\x80", "\xc3\xa9\xe2\x82\xac\xf0\x9f\xa6\x80"},
      {"\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd"},                  // Overlong.
      {"\xe0\x80\xaf", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},  // Overlong, of three bytes.
      {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},  // Half of a surrogate pair.
      {"\xf4\x90\x80\x80",
       "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},  // Above the last code point.
      {"\xf5\xff", "\xef\xbf\xbd\xef\xbf\xbd"},              // No lead at all.
      {"cut\xe2\x82", "cut\xef\xbf\xbd\xef\xbf\xbd"},        // Ends within a code point.
      {"a\xe2(\xa1", "a\xef\xbf\xbd(\xef\xbf\xbd"},          // Interrupted.
      {"<script>\x1b[31m\n", "<script>\x1b[31m\n"},
  };
  std::vector<Ref> live;
  for (const auto& [text, valid] : texts) live.push_back(labelled(text));
  const Read result = read(written(snapshot(live)));
  ASSERT_EQ(result.samples.size(), std::size(texts));
  std::map<std::string, int> expected, found;
  for (const Read::Sample& sample : result.samples) {
    for (const auto& [key, text] : sample.labels) found[key + ":" + text] += 1;
  }
  for (const auto& [text, valid] : texts) expected["label:" + valid] += 1;
  for (const auto& [label, count] : expected) EXPECT_EQ(found[label], count) << label;
  EXPECT_EQ(result.shown, "inuse_space");
}

TEST_F(Pprof, LabelsThatArePairsHaveTheirKeys) {
  const Ref outer = trace.name(NameKind::kLabel, 0, "tenant=acme=1");
  const Ref inner = trace.name(NameKind::kLabel, outer, "=odd");
  const Ref type = trace.name(NameKind::kType, 0, "Order");
  const Ref sample = trace.sample({.epoch = epoch, .thread = 2, .label = inner, .type = type});
  trace.thread(2, 4711, {});
  trace.thread_name(2, "worker");
  const Ref nameless = trace.sample({.time = 2001, .epoch = epoch, .thread = 5});
  trace.thread(5, 4712, {});
  const Read result = read(written(snapshot({sample, nameless})));
  ASSERT_EQ(result.samples.size(), 2U);
  EXPECT_THAT(result.samples[1].labels,
              ElementsAre(Pair("thread", "worker"), Pair("type", "Order"), Pair("tenant", "acme=1"),
                          Pair("label", "tenant=acme=1 / =odd")));
  EXPECT_THAT(result.samples[0].labels, ElementsAre(Pair("thread", "tid 4712")));
}

TEST_F(Pprof, RowsAreOneForWhatIsAlike) {
  const Ref stack = trace.stack({0x1010});
  const Ref other = trace.stack({0x1020});
  std::vector<Ref> live;
  const auto add = [&](const TestTrace::Drawn& drawn) { live.push_back(trace.sample(drawn)); };
  for (const Ref each : {stack, other, stack}) {
    for (const Bytes requested : {Bytes{64}, Bytes{65}}) {
      add({.stack = each, .epoch = epoch, .requested = requested});
      add({.stack = each, .epoch = epoch, .requested = requested, .thread = 1});
    }
  }
  add({.stack = stack, .epoch = epoch, .requested = 5000, .is_certain = true});
  add({.stack = stack, .epoch = epoch, .requested = 64, .heap = 4});
  const geiger_profile profile = snapshot(live);
  const Read result = read(written(profile));
  EXPECT_EQ(result.samples.size(), 9U);
  double objects = 0;
  for (const Read::Sample& sample : result.samples) {
    ASSERT_EQ(sample.values.size(), 10U);
    EXPECT_EQ(sample.values[0], 0) << "nothing was allocated in a snapshot";
    objects += static_cast<double>(sample.values[2]);
  }
  geiger_estimate estimate;
  ASSERT_EQ(geiger_estimate_total(profile, GEIGER_OBJECTS, 0, nullptr, nullptr, 0.95, &estimate),
            GEIGER_OK);
  EXPECT_NEAR(objects, estimate.value, 1);
  EXPECT_EQ(read(written(profile, 4)).samples.size(), 1U);
  EXPECT_TRUE(read(written(profile, 5)).samples.empty());
  EXPECT_EQ(geiger_write_pprof(profile, GEIGER_MAX_HEAPS + 1, nullptr, nullptr),
            GEIGER_BAD_ARGUMENT);
  const auto take = [](void*, const void*, std::size_t) { return 0; };
  EXPECT_EQ(geiger_write_pprof(profile, GEIGER_MAX_HEAPS + 1, take, nullptr), GEIGER_WRONG_HEAP);
  ASSERT_EQ(geiger_estimate_total(profile, GEIGER_VALUE, 0, nullptr, nullptr, 0.95, nullptr),
            GEIGER_BAD_ARGUMENT);
  ASSERT_EQ(geiger_estimate_total(profile, GEIGER_VALUE, 4, nullptr, nullptr, 0.95, &estimate),
            GEIGER_OK);
  EXPECT_EQ(estimate.samples, 1);
}

/// A module of the program's own code, and one that is not mapped.
struct PprofModules : Pprof {
  static std::uint64_t own_code() { return reinterpret_cast<std::uint64_t>(&read_mapping); }
  static std::uint64_t page() { return own_code() / 4096 * 4096; }
  [[nodiscard]] geiger_profile with_modules() {
    trace.module("/gone/lib\x01.so", "\x12\xab", 0x1000, 0x2000, 0x1000);
    trace.module("/bin/target", "", page() - (16 << 20), page() + (16 << 20), 0);
    const Ref stack = trace.stack({0x1010, own_code() + 1, 0x9000, 0x2000});
    return snapshot({trace.sample({.stack = stack, .epoch = epoch})});
  }
};

TEST_F(PprofModules, TheProgramComesFirstAndWhatIsGoneIsKept) {
  const Read result = read(written(with_modules()));
  ASSERT_EQ(result.mappings.size(), 2U);
  EXPECT_EQ(result.mappings[0].path, "/bin/target");
  EXPECT_LE(result.mappings[0].start, own_code());
  EXPECT_GT(result.mappings[0].limit, own_code());
  EXPECT_EQ(result.mappings[1].path, "/gone/lib\x01.so");
  EXPECT_EQ(result.mappings[1].start, 0x1000U) << "all of it, for nothing of it is mapped";
  EXPECT_EQ(result.mappings[1].limit, 0x2000U);
  EXPECT_EQ(result.mappings[1].build_id, "12ab");
  ASSERT_EQ(result.samples.size(), 1U);
  std::vector<std::uint64_t> mappings;
  for (const std::uint64_t id : result.samples[0].locations) {
    mappings.push_back(result.locations.at(id).first);
  }
  EXPECT_THAT(mappings, ElementsAre(2, 1, 0, 2)) << "a return address is one past its call";
}

TEST_F(PprofModules, WithoutMapsAModuleIsAllOfIt) {
  const geiger_profile profile = with_modules();
  ASSERT_TRUE(base::where_refused({{SYS_openat, EACCES}}, [&] {
    EXPECT_EQ(read(written(profile)).mappings[0].start, page() - (16 << 20));
  }));
}

TEST_F(Pprof, LargeProfilesComeInPartsAndEndAtTheFirstRefusal) {
  std::vector<Ref> live;
  for (int i = 0; i < 2000; ++i)
    live.push_back(labelled(std::string(300, 'x') + std::to_string(i)));
  const geiger_profile profile = snapshot(live);
  const std::string whole = written(profile);
  EXPECT_GT(whole.size(), 600'000U);
  int parts = 0;
  const auto refuse = [](void* context, const void*, std::size_t) {
    ++*static_cast<int*>(context);
    return 1;
  };
  EXPECT_EQ(geiger_write_pprof(profile, 0, refuse, &parts), GEIGER_FAILED_IO);
  EXPECT_EQ(parts, 1) << "not asked again";
  EXPECT_EQ(read(whole).samples.size(), 2000U);
}

struct PprofFiles : PprofModules {
  PprofFiles() {
    char name[] = "/tmp/geiger-pprof-XXXXXX";
    directory = mkdtemp(name);
  }
  ~PprofFiles() override { std::filesystem::remove_all(directory); }
  [[nodiscard]] std::string path() const { return directory + "/profile.pb"; }
  [[nodiscard]] std::string contents() const {
    std::ifstream file(path(), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::string directory;
};

TEST_F(PprofFiles, HoldWhatWritersAreGiven) {
  const geiger_profile profile = with_modules();
  ASSERT_EQ(geiger_write_pprof_file(profile, 0, path().c_str()), GEIGER_OK);
  EXPECT_EQ(read(contents()).samples.size(), 1U);
  EXPECT_EQ(geiger_write_pprof_file(profile, 0, "/dev/full"), GEIGER_FAILED_IO);
  EXPECT_EQ(geiger_write_pprof_file(profile, GEIGER_MAX_HEAPS + 1, path().c_str()),
            GEIGER_WRONG_HEAP);
}

TEST_F(PprofFiles, AFailureThatOnlyClosingTellsIsTold) {
  const geiger_profile profile = with_modules();
  ASSERT_TRUE(base::where_refused({{SYS_close, EIO}}, [&] {
    EXPECT_EQ(geiger_write_pprof_file(profile, 0, path().c_str()), GEIGER_FAILED_IO);
  }));
}

/// Empties the pipe for which a writer waits.
int pipe_to_empty = -1;
volatile sig_atomic_t interruptions = 0;
void empty_pipe(int) {
  const int before = errno;
  char buffer[1 << 16];
  while (::read(pipe_to_empty, buffer, sizeof buffer) > 0) continue;
  interruptions = interruptions + 1;
  errno = before;
}

TEST_F(PprofFiles, WritingGoesOnBehindASignal) {
  std::vector<Ref> live;
  for (int i = 0; i < 400; ++i) live.push_back(labelled(std::string(500, 'y') + std::to_string(i)));
  const geiger_profile profile = snapshot(live);
  int pipes[2];
  ASSERT_EQ(pipe2(pipes, O_CLOEXEC), 0);
  ASSERT_EQ(fcntl(pipes[0], F_SETFL, O_NONBLOCK), 0);
  pipe_to_empty = pipes[0];
  struct sigaction action {
  }, before{};
  action.sa_handler = empty_pipe;
  ASSERT_EQ(sigaction(SIGUSR2, &action, &before), 0);
  // More than the pipe's capacity: only the handler empties it.
  std::atomic<bool> has_ended{false};
  geiger_status status = GEIGER_THREW;
  std::thread writer([&] {
    status = geiger_write_pprof_to(profile, 0, pipes[1]);
    has_ended = true;
  });
  while (!has_ended) {
    pthread_kill(writer.native_handle(), SIGUSR2);
    usleep(1000);
  }
  writer.join();
  EXPECT_EQ(status, GEIGER_OK);
  EXPECT_GT(interruptions, 0);
  sigaction(SIGUSR2, &before, nullptr);
  close(pipes[0]);
  close(pipes[1]);
}

}  // namespace
}  // namespace geiger::api
