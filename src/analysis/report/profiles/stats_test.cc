#include "analysis/report/profiles/stats.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "analysis/profile/testing/example_recording.h"

namespace geiger::report {
namespace {

using profile::Recording;
using profile::example::RecordingBuilder;
using profile::example::small_server;
using ::testing::HasSubstr;

std::string stats_text_of(const Recording& recording) {
  return to_text(stats_report(recording, {}), recording, {});
}

TEST(Stats, ReadsLikeThis) {
  EXPECT_EQ(stats_text_of(small_server()),
            R"(Allocated, statistics: 146 MiB ± 17 from 253 samples, 95 % intervals

Sizes requested
  size                 bytes                objects                   samples
  128 to 255 B      6.00 MiB [3.10, 10.49]   31.5 k [16.2 k, 55.0 k]       12  ░
  256 to 511 B    < 1.85 MiB                      -                         0
  512 to 1,023 B  < 1.85 MiB                      -                         0
  from 1 KiB      < 1.85 MiB                      -                         0
  from 2 KiB      < 1.85 MiB                      -                         0
  from 4 KiB      < 1.85 MiB                      -                         0
  from 8 KiB      < 1.85 MiB                      -                         0
  from 16 KiB     < 1.85 MiB                      -                         0
  from 32 KiB     < 1.85 MiB                      -                         0
  from 64 KiB        128 MiB ± 17             2,042 ± 260                 240  █████████████░░░
  from 128 KiB    < 1.85 MiB                      -                         0
  from 256 KiB    < 1.85 MiB                      -                         0
  from 512 KiB           0 B                      0                         0
  from 1 MiB             0 B                      0                         0
  from 2 MiB             0 B                      0                         0
  from 4 MiB             0 B                      0                         0
  from 8 MiB          12 MiB                      1                         1  █

Entry points
            bytes       objects                   samples
  malloc  146 MiB ± 17   33.5 k [17.5 k, 76.8 k]      253  █████████████░░░

Lifetimes
                              bytes                objects                   samples
  freed within 1 ms      < 1.85 MiB                      -                         0
  after 1 to 10 ms         6.00 MiB [3.10, 10.49]   31.5 k [16.2 k, 55.0 k]       12  ░
  after 10 to 100 ms     < 1.85 MiB                      -                         0
  after 0.1 to 1 s           96 MiB ± 15             1,532 ± 228                 180  ███████████░░░
  after 1 to 10 s        < 1.85 MiB                      -                         0
  after more than 10 s   < 1.85 MiB                      -                         0
  still live at the end    43.9 MiB [36.7, 52.6]       512 [397, 651]             61  █████░░

Depth of stacks
  frames  samples  share
  2 to 3      241   95 %
  4 to 7       12  4.7 %

Threads
  counted  estimated                     samples  thread
  132 MiB    134 MiB ± 17                    252  worker (tid 4712)
   12 MiB     12 MiB exact + < 1.85 MiB        1  server (tid 4711)

Bytes counted exactly, by process
   pid  counted  uncounted, at most  certain    z  program
  4711  144 MiB                 0 B   12 MiB  0.2  server
)");
}

TEST(Stats, PureSamplingKnowsNoSizeExactly) {
  Recording recording = small_server();
  recording.processes[0].is_pure = true;
  const StatsReport report = stats_report(recording, {});
  EXPECT_GT(report.sizes.back().measure.bytes.interval.hi, 12.0 * kMiB);
}

TEST(Stats, NamesUnknownEntryPoints) {
  RecordingBuilder builder;
  const auto thread = builder.thread(builder.process("/bin/a", 1), "", 1);
  builder.sample(thread, builder.stack({}, true), 100, 1);
  builder.recording().samples[0].entry_point = static_cast<vocabulary::EntryPoint>(200);
  const std::string text = stats_text_of(builder.recording());
  EXPECT_THAT(text, HasSubstr("entry point 200"));
  EXPECT_THAT(text, HasSubstr("1 sample (100 %) has a truncated stack"));
}

TEST(Stats, ListsTheLargestThreads) {
  RecordingBuilder builder;
  const auto process = builder.process("/bin/a", 1);
  for (std::uint64_t i = 0; i < 30; ++i) {
    builder.thread(process, "\x1bt", i);
    builder.recording().threads.back().bytes = i * kKiB;
  }
  const StatsReport report = stats_report(builder.recording(), {});
  ASSERT_EQ(report.threads.size(), 20U);
  EXPECT_EQ(report.threads[0].exact_bytes, 29 * kKiB);
  const std::string text = stats_text_of(builder.recording());
  EXPECT_THAT(text, HasSubstr("\\x1bt (tid 29)"));
  EXPECT_THAT(text, HasSubstr("and 10 more"));
}

TEST(Stats, JsonParsesAndAddsUp) {
  const Recording recording = small_server();
  const auto json = nlohmann::json::parse(to_json(stats_report(recording, {}), recording));
  EXPECT_EQ(json["schema_version"], 1);
  std::uint64_t samples = 0;
  for (const auto& size : json["sizes"]) samples += size["samples"].get<std::uint64_t>();
  EXPECT_EQ(samples, 253U);
  EXPECT_EQ(json["threads"][0]["name"], "worker");
  EXPECT_EQ(json["lifetimes"].back()["samples"], 61);
  EXPECT_EQ(json["depths"][0]["least"], 2);
}

TEST(Stats, OfNothing) {
  EXPECT_THAT(stats_text_of({}), HasSubstr("No samples."));
  const auto json = nlohmann::json::parse(to_json(stats_report({}, {}), {}));
  EXPECT_TRUE(json["sizes"].empty());
}

}  // namespace
}  // namespace geiger::report
