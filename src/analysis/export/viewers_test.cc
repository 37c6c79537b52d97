// What is written for viewers, number by number; tests/viewers.py opens it in them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "analysis/export/firefox.h"
#include "analysis/export/flame_graphs.h"
#include "analysis/export/heap_profilers.h"
#include "analysis/export/sql/rows.h"
#include "analysis/export/streams/gzip.h"
#include "analysis/profile/testing/example_recording.h"

namespace geiger::exports {
namespace {

using nlohmann::json;
using profile::Kind;
using profile::Profile;
using profile::Recording;
using profile::example::RecordingBuilder;
using profile::example::small_server;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <typename Write>
std::string written(const Write& write) {
  std::string out;
  write([&](std::string_view bytes) { out += bytes; });
  return out;
}

json speedscope(const Recording& recording, const std::vector<TitledProfile>& profiles) {
  return json::parse(
      written([&](const Sink& sink) { write_speedscope(recording, profiles, "server", sink); }));
}

json dhat(const Recording& recording) {
  return json::parse(
      written([&](const Sink& sink) { write_dhat(recording, {}, "server x", sink); }));
}

json firefox(const Recording& recording) {
  return json::parse(written([&](const Sink& sink) { write_firefox(recording, {}, sink); }));
}

std::string heaptrack(const Recording& recording) {
  return written([&](const Sink& sink) { write_heaptrack(recording, {}, "server\nx", sink); });
}

std::string csv(const Recording& recording, const Profile& profile) {
  return written([&](const Sink& sink) { write_csv(recording, profile, 0.95, sink); });
}

/// Every allocation recorded: what is written is what happened.
Recording exact_recording() {
  RecordingBuilder builder(1);
  const auto thread = builder.thread(builder.process("/bin/a", 7), "main", 7);
  const auto module = builder.module("/bin/a", 0x1000);
  const auto main = builder.location(module, 0x10, {"main"});
  const auto leaf = builder.location(module, 0x20, {"inlined", "leaf"});
  const auto stack = builder.stack({leaf, main});
  builder.sample(thread, stack, 100, 10, 30);
  builder.sample(thread, stack, 50, 20);
  builder.sample(thread, builder.stack({main}, true), 7, 40, 41);
  return builder.recording();
}

TEST(Speedscope, HasInlinedFramesAndTotalsThatAddUp) {
  const Recording recording = small_server();
  const Profile all = profile::select(recording, Kind::kAllocated);
  const Profile live = profile::select(recording, Kind::kLiveAtEnd);
  const json file = speedscope(recording, {{"all", &all, Weight::kBytes},
                                           {"live", &live, Weight::kBytes},
                                           {"objects", &all, Weight::kObjects}});
  std::vector<std::string> names;
  for (const json& frame : file["shared"]["frames"]) names.push_back(frame["name"]);
  EXPECT_THAT(names, ::testing::IsSupersetOf({"main", "grow", "read_request"}));
  const json& profiles = file["profiles"];
  ASSERT_EQ(profiles.size(), 3U);
  EXPECT_EQ(profiles[0]["endValue"], 12582912 + 133857118 + 6292650);
  EXPECT_EQ(profiles[0]["unit"], "bytes");
  EXPECT_EQ(profiles[1]["endValue"], 12582912 + 33464279);
  EXPECT_EQ(profiles[2]["unit"], "none");
  for (const json& profile : profiles) {
    std::int64_t sum = 0;
    for (const json& weight : profile["weights"]) sum += weight.get<std::int64_t>();
    EXPECT_EQ(sum, profile["endValue"]);
    EXPECT_EQ(profile["samples"].size(), profile["weights"].size());
  }
}

TEST(Speedscope, FunctionsOfOneShortNameAreToldApart) {
  RecordingBuilder builder(1);
  const auto thread = builder.thread(builder.process("/bin/a", 1), "", 1);
  const auto module = builder.module("/bin/a", 0x1000);
  for (const auto& [line, name] : {std::pair{1, "f(int)"}, {2, "f(char)"}, {3, "g(int)"}}) {
    builder.sample(thread, builder.stack({builder.location(module, line, {name})}), 100, 1);
  }
  const Recording recording = builder.recording();
  const auto names_in = [](const json& table, const char* field) {
    std::vector<std::string> names;
    for (const json& row : table) names.push_back(field == nullptr ? row : row[field]);
    return names;
  };
  const Profile all = profile::select(recording, Kind::kAllocated);
  const std::vector<TitledProfile> titled{{"all", &all, Weight::kBytes}};
  const json full = json::parse(written([&](const Sink& sink) {
    write_speedscope(recording, titled, "a", sink, present::Names::kFull);
  }));
  EXPECT_THAT(names_in(speedscope(recording, titled)["shared"]["frames"], "name"),
              ::testing::UnorderedElementsAre("f(int)", "f(char)", "g"));
  EXPECT_THAT(names_in(full["shared"]["frames"], "name"),
              ::testing::UnorderedElementsAre("f(int)", "f(char)", "g(int)"));
  EXPECT_THAT(names_in(firefox(recording)["threads"][0]["stringArray"], nullptr),
              ::testing::IsSupersetOf({"f(int)", "f(char)", "g"}));
}

TEST(Speedscope, OfNothingIsAFile) {
  const Profile none;
  const json file = speedscope({}, {{"none", &none, Weight::kBytes}});
  EXPECT_EQ(file["profiles"][0]["endValue"], 0);
}

TEST(Dhat, TellsTotalsPeakEndAndLifetimes) {
  const json file = dhat(exact_recording());
  EXPECT_EQ(file["dhatFileVersion"], 2);
  EXPECT_TRUE(file["bklt"]);
  ASSERT_EQ(file["pps"].size(), 2U);
  const json& point = file["pps"][0];
  EXPECT_EQ(point["tb"], 150);
  EXPECT_EQ(point["tbk"], 2);
  EXPECT_EQ(point["mb"], 150);
  EXPECT_EQ(point["mbk"], 2);
  EXPECT_EQ(point["gb"], 150);
  EXPECT_EQ(point["eb"], 50);
  EXPECT_EQ(point["ebk"], 1);
  // 20 ms and the rest of 2.5 s, in microseconds.
  EXPECT_EQ(point["tl"], 20'000 + 2'480'000);
  EXPECT_EQ(file["tg"], 20'000);
  EXPECT_EQ(file["te"], 2'500'000);
  std::vector<std::string> frames;
  for (const json& frame : point["fs"]) frames.push_back(file["ftbl"][frame.get<std::size_t>()]);
  ASSERT_EQ(frames.size(), 3U);
  EXPECT_EQ(frames[0], "0x1020: inlined (main.cc:32)");
  EXPECT_THAT(frames[1], HasSubstr("leaf"));
  EXPECT_EQ(frames[2], "0x1010: main (main.cc:16)");
}

TEST(Dhat, OfOneKindHasNoTimes) {
  const Recording recording = exact_recording();
  const Profile live = profile::select(recording, Kind::kLiveAtEnd);
  const json file = json::parse(
      written([&](const Sink& sink) { write_dhat_of(recording, live, "server x", sink); }));
  EXPECT_FALSE(file["bklt"]);
  ASSERT_EQ(file["pps"].size(), 1U);
  EXPECT_EQ(file["pps"][0]["tb"], 50);
  EXPECT_FALSE(file["pps"][0].contains("tl"));
}

TEST(Firefox, BalancesAllocationsAndFrees) {
  const json file = firefox(exact_recording());
  ASSERT_EQ(file["threads"].size(), 1U);
  const json& thread = file["threads"][0];
  const json& allocations = thread["nativeAllocations"];
  EXPECT_EQ(allocations["weight"], json({100, 50, -100, 7, -7}));
  EXPECT_EQ(allocations["memoryAddress"], json({1, 2, 1, 3, 3}));
  EXPECT_EQ(allocations["time"], json({10.0, 20.0, 30.0, 40.0, 41.0}));
  const auto length = allocations["length"].get<std::size_t>();
  EXPECT_EQ(length, allocations["stack"].size());
  for (const json& stack : allocations["stack"]) EXPECT_LT(stack, thread["stackTable"]["length"]);
  for (const char* table : {"frameTable", "funcTable", "stackTable", "resourceTable"}) {
    for (const auto& [name, column] : thread[table].items()) {
      if (column.is_array()) {
        EXPECT_EQ(column.size(), thread[table]["length"]) << table << name;
      }
    }
  }
  std::int64_t live = 0;
  for (const json& change : file["counters"][0]["sampleGroups"][0]["samples"]["count"]) {
    live += change.get<std::int64_t>();
  }
  EXPECT_EQ(live, 50);
}

TEST(Firefox, NothingEndsBeforeItStarts) {
  Recording recording = exact_recording();
  recording.processes[0].start += 5'000'000;
  recording.processes[0].end = 0;
  recording.processes.push_back(recording.processes[0]);
  recording.processes[1].start -= 5'000'000;
  const json thread = firefox(recording)["threads"][0];
  EXPECT_EQ(thread["registerTime"], 5.0);
  EXPECT_EQ(thread["unregisterTime"], 5.0);
  EXPECT_EQ(thread["processShutdownTime"], 5.0);
  EXPECT_EQ(thread["samples"]["time"], json({5.0, 5.0}));
}

TEST(Firefox, ImagesOfOnePidAreProcessesOfTheirOwn) {
  Recording recording = exact_recording();
  recording.processes.push_back(recording.processes[0]);
  recording.samples[2].process = 1;
  const json file = firefox(recording);
  ASSERT_EQ(file["threads"].size(), 2U);
  EXPECT_NE(file["threads"][0]["pid"], file["threads"][1]["pid"]);
}

TEST(Heaptrack, WritesBlocksInOrderOfTime) {
  EXPECT_EQ(
      heaptrack(exact_recording()),
      "v 10400 3\nX server x\n# geiger: estimates from samples, one byte in 1\nI 1000 0\nc a\n"
      "s 6 /bin/a\ns 4 main\ns 7 main.cc\ni 1010 1 2 3 10\nt 1 0\n"
      "s 7 inlined\ns 4 leaf\ni 1020 1 4 3 20 5 3 20\nt 2 1\n"
      "a 64 2\n# samples: 1 100 inf\n+ 0\nc 14\na 32 2\n# samples: 1 50 inf\n+ 1\nc 1e\n- 0\nc 28\n"
      "s b [truncated]\ni 4 0 6 0 0\nt 3 0\nt 1 3\na 7 4\n# samples: 1 7 inf\n+ 2\nc 29\n- 2\nc "
      "9c4\n");
}

TEST(Heaptrack, BlocksWeighWhatTheyStandFor) {
  const std::string text = heaptrack(small_server());
  std::istringstream lines(text);
  std::vector<std::int64_t> sizes;
  std::int64_t total = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line[0] == 'a') sizes.push_back(std::stoll(line.substr(2), nullptr, 16));
    if (line[0] == '+') total += sizes.at(std::stoul(line.substr(2), nullptr, 16));
  }
  EXPECT_EQ(total, 12582912 + 133857118 + 6292650);
}

TEST(Rows, HaveVarianceAndInterval) {
  std::istringstream lines(csv(small_server(), profile::select(small_server(), Kind::kAllocated)));
  std::string line;
  ASSERT_TRUE(std::getline(lines, line));
  EXPECT_THAT(line, HasSubstr("kind,stack,n,certain,bytes,bytes_variance,bytes_lo,bytes_hi"));
  ASSERT_TRUE(std::getline(lines, line));
  EXPECT_THAT(line, HasSubstr("allocated,main;serve(int);read_request(Request&);grow;"));
  EXPECT_TRUE(line.ends_with('\r'));
}

/// The first of three stacks.
TEST(Rows, OpenSamplesAreInUpperLimits) {
  Profile profile = profile::select(small_server(), Kind::kAllocated);
  const auto first = std::ranges::find(profile.entries, 0U, &profile::Entry::stack);
  profile.open.push_back(*first);
  profile.entries.erase(first);
  std::istringstream lines(csv(small_server(), profile));
  std::string line;
  std::getline(lines, line);
  EXPECT_THAT(line, HasSubstr(",bytes_open,objects_open"));
  std::getline(lines, line);
  EXPECT_THAT(line, HasSubstr(",0,0,0,0,0,"));
  EXPECT_FALSE(line.ends_with(",0,0\r"));
  std::getline(lines, line);
  EXPECT_TRUE(line.ends_with(",0,0\r"));
}

TEST(Rows, NamesReadBackAndActNowhere) {
  EXPECT_EQ(escaped_frame("a;b\\c\nd\x1b\xff\u00e9"), "a\\;b\\\\c\\nd\\x1b\\xff\u00e9");
  EXPECT_EQ(escaped_frame("\u009b"), "\\xc2\\x9b");
  EXPECT_EQ(plain_cell("=1+1"), "'=1+1");
  EXPECT_EQ(plain_cell("'=1"), "''=1");
  EXPECT_EQ(plain_cell("-x,\"y\""), "\"'-x,\"\"y\"\"\"");
  EXPECT_EQ(plain_cell("f(int, char)"), "\"f(int, char)\"");
  EXPECT_EQ(plain_cell(""), "");
}

TEST(Rows, LinesOfJsonStartWithTheWhole) {
  const Recording recording = small_server();
  const Profile profile = profile::select(recording, Kind::kLiveAtEnd);
  std::istringstream lines(
      written([&](const Sink& sink) { write_json_lines(recording, profile, {}, 0.9, sink); }));
  std::string line;
  ASSERT_TRUE(std::getline(lines, line));
  const json head = json::parse(line);
  EXPECT_EQ(head["schema_version"], 1);
  EXPECT_EQ(head["kind"], "live");
  EXPECT_EQ(head["stacks"], 2);
  std::uint64_t samples = 0;
  while (std::getline(lines, line)) {
    const json row = json::parse(line);
    samples += row["samples"].get<std::uint64_t>();
    EXPECT_EQ(row["stack"].back()["function"], "main");
  }
  EXPECT_EQ(samples, head["samples"]);
}

TEST(Compressed, ByTheEndingOfTheName) {
  const auto head_of = [](const char* name) {
    return written([&](const Sink& sink) {
             const auto stream = compressed_by_name(name, sink);
             stream->write("some text");
             stream->finish();
           })
        .substr(0, 2);
  };
  EXPECT_EQ(head_of("a.json.gz"), "\x1f\x8b");
  EXPECT_EQ(head_of("a.zst"), "\x28\xb5");
  EXPECT_EQ(head_of("a.json"), "so");
}

}  // namespace
}  // namespace geiger::exports
