#include "analysis/report/overview/summary.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "analysis/present/function_names.h"
#include "analysis/present/text.h"
#include "analysis/profile/testing/example_recording.h"

namespace geiger::report {
namespace {

using profile::Recording;
using profile::example::RecordingBuilder;
using profile::example::small_server;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::string summary_text_of(const Recording& recording, const present::Style& style = {}) {
  SummaryOptions options;
  options.run = "geiger-server.4711";
  return to_text(summary_report(recording, options), recording, style);
}

nlohmann::json json_of(const Recording& recording) {
  return nlohmann::json::parse(to_json(summary_report(recording, {}), recording));
}

TEST(Summary, ShowsLinesWholeHoweverNarrow) {
  RecordingBuilder builder;
  const auto thread = builder.thread(builder.process("/bin/a", 1), "", 1);
  const auto module = builder.module("/bin/a", 0x1000);
  for (const Address line : {1234U, 1235U, 1236U}) {
    const auto place = builder.location(module, line, {"space::SessionStore::open_or_create"});
    builder.sample(thread, builder.stack({place}), 1000 * line, 1);
  }
  for (const std::size_t width : {60U, 70U, 80U}) {
    present::Style style;
    style.width = width;
    const std::string text = summary_text_of(builder.recording(), style);
    const std::string list = text.substr(text.find("Most allocated"));
    EXPECT_THAT(list, HasSubstr("SessionStore::open_or_create"));
    EXPECT_THAT(list, HasSubstr("  main.cc:1234-1236\n"));
  }
}

TEST(Summary, ReadsLikeThis) {
  EXPECT_EQ(summary_text_of(small_server()),
            R"(At the peak make_buffer (main.cc:1280) held 91 % [89, 93] of 138 MiB [121, 144].

server, pid 4711: exited after 2.50 s
± and [ ] are 95 % intervals

  interval          512 KiB between sampled bytes, on average
  samples           253                       1 large block recorded exactly
  allocated         146 MiB ± 17              33.5 k [18.1 k, 76.8 k] objects
  exact total       144 MiB                   the estimate differs by z = 0.2, within chance
  self-check        passed                    hits z = 0.2, offsets of sampled bytes p = 1
  live at the peak  138 MiB [121, 144]        401 ms after the start; measured with three quarters
                                              of the samples
  live at the end   43.9 MiB [36.7, 52.6]     512 [397, 651] objects
  detection limit   1.85 MiB                  any site without samples allocated less than this
  threads           2
  stacks            3                         none truncated
  dropped           nothing

Most allocated, by function
   126 MiB [121, 129]           88 % [84, 90]    make_buffer  main.cc:1280
    12 MiB exact + < 1.85 MiB  8.3 % [8.3, 9.7]  load_table  main.cc:1536
  5.92 MiB [3.09, 10.17]       4.1 % [2.1, 7.1]  grow  main.cc:768

Most live at the peak, by function
  126 MiB ± 18                 91 % [89, 93]     make_buffer  main.cc:1280
   12 MiB exact + < 2.46 MiB  8.7 % [7.4, 10.7]  load_table  main.cc:1536

next: geiger table geiger-server.4711 --kind peak
)");
}

std::size_t widest_line(const std::string& text) {
  std::size_t widest = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    widest = std::max(widest, present::columns_of(text.substr(at, end - at)));
    at = end + 1;
  }
  return widest;
}

/// The server, and a second process with a heap of its own.
Recording two_servers() {
  RecordingBuilder builder;
  for (const std::uint32_t pid : {4711U, 4712U}) {
    const std::string path = "/usr/bin/server-" + std::to_string(pid);
    const auto process = builder.process(path, pid);
    const auto thread = builder.thread(process, "server", pid);
    const auto module = builder.module(path, 0x400000 + pid);
    const auto stack = builder.stack({builder.location(module, 7, {"make_buffer"})});
    for (int i = 0; i < 200; ++i) builder.sample(thread, stack, 64 * kKiB, 1 + i);
  }
  return builder.recording();
}

TEST(Summary, FitsTheTerminal) {
  SummaryOptions options;
  options.has_all_kinds = true;
  for (const Recording& recording : {small_server(), two_servers()}) {
    for (const std::size_t width : {80, 100}) {
      present::Style style;
      style.width = width;
      EXPECT_LE(widest_line(to_text(summary_report(recording, options), recording, style)), width);
    }
  }
}

// node's scripts, recorded without a map of what it compiled, and with one.
TEST(Summary, SaysHowScriptsGetNames) {
  for (const char* name : {"0x7f0000001234", "serve"}) {
    RecordingBuilder builder;
    const auto process = builder.process("/usr/bin/node", 1);
    const auto thread = builder.thread(process, "node", 1);
    const auto module = builder.module("/usr/bin/node", 0x400000);
    const auto compiled = builder.location(profile::kNone, 0x1234, {name});
    const auto stack = builder.stack({builder.location(module, 7, {"node::Start"}), compiled});
    for (int i = 0; i < 20; ++i) builder.sample(thread, stack, 64 * kKiB, 1 + i);
    Recording& recording = builder.recording();
    for (profile::Frame& frame : recording.frames) {
      if (frame.function == "serve") frame.file = "/home/me/app.js";
    }
    const SummaryReport report = summary_report(recording, {});
    const std::string hint =
        "functions of node's scripts have no names: record with geiger run --node";
    const bool is_hinted = std::string_view(name) != "serve";
    EXPECT_EQ(closing_lines(report, recording, {}).find(hint) != std::string::npos, is_hinted);
    EXPECT_EQ(to_text(report, recording, {}).find(hint) != std::string::npos, is_hinted);
  }
}

TEST(Summary, AJvmsMethodsGetTheirNamesByItsOwnOption) {
  RecordingBuilder builder;
  const auto process = builder.process("/usr/bin/java", 1);
  const auto thread = builder.thread(process, "java", 1);
  const auto launcher = builder.module("/usr/lib/jvm/lib/libjli.so", 0x400000);
  builder.module("/usr/lib/jvm/lib/server/libjvm.so", 0x800000);
  const auto stack = builder.stack({builder.location(launcher, 7, {"JavaMain"}),
                                    builder.location(profile::kNone, 0x1234, {"0x7f0000001234"})});
  builder.sample(thread, stack, 64 * kKiB, 1);
  EXPECT_THAT(present::compiled_code_hint(builder.recording()), HasSubstr("geiger run --java"));
}

TEST(Summary, TimesTheProcessAndNotItsLastSegments) {
  Recording recording = small_server();
  const Nanoseconds lasted = recording.processes[0].end - recording.processes[0].start;
  recording.processes[0].image_start = recording.processes[0].start;
  recording.processes[0].start = recording.processes[0].end - lasted / 50;
  EXPECT_THAT(summary_text_of(recording), HasSubstr(": exited after 2.50 s\n"));
}

TEST(Summary, SaysWhoseFiguresThoseOfSeveralProcessesAre) {
  EXPECT_THAT(summary_text_of(two_servers()),
              HasSubstr("Figures cover all 2 processes together.\n"));
  EXPECT_THAT(summary_text_of(small_server()), Not(HasSubstr("processes together")));
}

TEST(Summary, WithoutListsOfSitesSaysTheSame) {
  const Recording recording = small_server();
  SummaryOptions options;
  options.sites = 0;
  const SummaryReport report = summary_report(recording, options);
  EXPECT_TRUE(report.top_allocated.empty());
  EXPECT_TRUE(report.top_live_at_peak.empty());
  EXPECT_EQ(closing_lines(report, recording, {}),
            closing_lines(summary_report(recording, {}), recording, {}));
}

TEST(Summary, QuotesTheRunWhereAShellNeedsIt) {
  SummaryOptions options;
  options.run = "my run.geiger";
  const SummaryReport report = summary_report(small_server(), options);
  EXPECT_THAT(to_text(report, small_server(), {}),
              HasSubstr("next: geiger table 'my run.geiger' --kind peak\n"));
  EXPECT_THAT(closing_lines(report, small_server(), {}),
              HasSubstr("or geiger summary 'my run.geiger'\n"));
}

TEST(Summary, NamesEveryKindThatTheRecordingTells) {
  Recording recording = small_server();
  for (profile::Sample& sample : recording.samples) sample.usable = sample.requested + 16;
  SummaryOptions options;
  options.has_all_kinds = true;
  const SummaryReport report = summary_report(recording, options);
  ASSERT_EQ(report.kinds.size(), 2U);
  EXPECT_EQ(report.kinds[0].kind, profile::Kind::kLiveUsable);
  EXPECT_EQ(report.kinds[1].kind, profile::Kind::kLiveOverhead);
  const std::string text = to_text(report, recording, {});
  EXPECT_THAT(text, HasSubstr("\n  live-usable       "));
  EXPECT_THAT(text, HasSubstr("\n  live-overhead     "));
  EXPECT_THAT(text, HasSubstr("\n  median lifetime"));
  const auto json = nlohmann::json::parse(to_json(report, recording));
  const auto& bytes = json["kinds"]["live-overhead"]["bytes"];
  EXPECT_LE(bytes["lo"], bytes["value"]);
  EXPECT_LE(bytes["value"], bytes["hi"]);
  EXPECT_TRUE(json["lifetimes"]["temporary"].contains("share"));
  EXPECT_FALSE(json_of(recording).contains("kinds"));
}

TEST(Summary, TestsNoHitsOfSeveralIntervalsThatLackSamples) {
  Recording recording = small_server();
  recording.epochs.push_back({4096, recording.epochs[0].lambda * 128});
  recording.samples[0].epoch = 1;
  recording.threads[0].hits += 5;
  const std::string text = summary_text_of(recording);
  EXPECT_THAT(text, HasSubstr("hits not tested:\n"));
  EXPECT_THAT(text, Not(HasSubstr("z = ")));
  EXPECT_FALSE(json_of(recording)["self_check"]["hits"]["is_testable"]);
}

TEST(Summary, SaysWhatWasLost) {
  Recording recording = small_server();
  recording.processes[0].ending = profile::Ending::kSwitchedOff;
  recording.processes[0].stop_reason = vocabulary::StopReason::kNoSpace;
  recording.processes[0].stop_errno = 28;
  recording.processes[0].drops[1] = 3;
  recording.threads[1].armed = kMiB;
  recording.warnings.emplace_back("a.geiger: offset 8192: \x1b[31mbad");
  const std::string text = summary_text_of(recording);
  EXPECT_THAT(text, HasSubstr("the file system had no space left (No space left on\ndevice)"));
  EXPECT_THAT(text, HasSubstr("3                         a signal handler allocated"));
  EXPECT_THAT(text, HasSubstr("144 MiB + at most 1 MiB"));
  EXPECT_THAT(text,
              HasSubstr("2                         the last bytes of 1 of them, at most 1 MiB"));
  EXPECT_THAT(text, HasSubstr("warning: a.geiger: offset 8192: \\x1b[31mbad"));
}

TEST(Summary, OpensWithWhatIsMissing) {
  Recording recording = small_server();
  recording.is_damaged = true;
  EXPECT_THAT(summary_text_of(recording),
              StartsWith("Incomplete (a file is damaged or truncated): "));
}

TEST(Summary, IsLoudOnlyAboutASelfCheckThatFails) {
  Recording recording = small_server();
  EXPECT_TRUE(json_of(recording)["self_check"]["passed"]);
  EXPECT_THAT(summary_text_of(recording), Not(HasSubstr("warning")));
  for (profile::Sample& sample : recording.samples) sample.offset = 0;
  EXPECT_THAT(summary_text_of(recording), HasSubstr("  self-check        FAILED "));
  EXPECT_THAT(summary_text_of(recording),
              HasSubstr("warning: Offsets of sampled bytes are not as expected"));
  const nlohmann::json check = json_of(recording)["self_check"];
  EXPECT_FALSE(check["passed"]);
  EXPECT_EQ(check["offsets"]["samples"], 252);
  EXPECT_LT(check["offsets"]["p_value"], 1e-6);
  EXPECT_LT(check["offsets"]["anderson_darling"]["p_value"], 1e-6);
}

TEST(Summary, SaysWhenHitsDisagreeWithTrials) {
  Recording recording = small_server();
  recording.threads[1].hits = 400;
  EXPECT_THAT(summary_text_of(recording), HasSubstr("  self-check        FAILED "));
  EXPECT_FALSE(json_of(recording)["self_check"]["passed"]);
}

TEST(Summary, ListsSeveralProcesses) {
  Recording recording = small_server();
  recording.processes.push_back(recording.processes[0]);
  recording.processes[1].pid = 4800;
  recording.processes[1].executable = "/bin/child";
  const std::string text = summary_text_of(recording);
  EXPECT_THAT(text, HasSubstr("2 processes, "));
  EXPECT_THAT(text, HasSubstr("and 1 process without samples, 0 B exactly"));
}

TEST(Summary, OfNothing) {
  EXPECT_EQ(summary_text_of({}),
            "The recording is empty: it contains no process.\n"
            "\nwarning: No samples. Record with a smaller --interval.\n");
  RecordingBuilder builder;
  builder.process("/bin/true", 7);
  const std::string text = summary_text_of(builder.recording());
  EXPECT_THAT(text, HasSubstr("allocated         < 1.85 MiB\n"));
  EXPECT_THAT(text, Not(HasSubstr("next:")));
  EXPECT_EQ(json_of({})["samples"], 0);
}

TEST(Summary, AtIntervalOneEverythingIsExact) {
  RecordingBuilder builder(1);
  const auto thread = builder.thread(builder.process("/bin/a", 1), "", 1);
  builder.sample(thread, builder.stack({}), 100, 1, 3);
  builder.sample(thread, builder.stack({}), 24, 2);
  builder.recording().threads[0].bytes = 124;
  const std::string text = summary_text_of(builder.recording());
  EXPECT_THAT(text, HasSubstr("1 B: every allocation is recorded"));
  EXPECT_THAT(text, HasSubstr("allocated         124 B                     2 objects"));
  EXPECT_THAT(text, HasSubstr("live at the end   24 B                      1 object"));
  EXPECT_THAT(text, Not(HasSubstr("z =")));
}

TEST(Summary, JsonCarriesEveryNumberWithItsInterval) {
  const nlohmann::json json = json_of(small_server());
  EXPECT_EQ(json["schema_version"], 1);
  EXPECT_EQ(json["report"], "summary");
  EXPECT_EQ(json["samples"], 253);
  EXPECT_EQ(json["exact"]["bytes"], 144 * kMiB);
  EXPECT_EQ(json["allocated"]["bytes"]["exact"], 12.0 * kMiB);
  EXPECT_EQ(json["allocated"]["bytes"]["samples"], 252);
  EXPECT_EQ(json["allocated"]["certain_samples"], 1);
  EXPECT_LT(json["allocated"]["bytes"]["lo"], json["allocated"]["bytes"]["value"]);
  EXPECT_GT(json["allocated"]["bytes"]["hi"], json["allocated"]["bytes"]["value"]);
  EXPECT_EQ(json["processes"][0]["ending"], "exited");
  EXPECT_EQ(json["drops"]["trace_full"], 0);
  EXPECT_EQ(json["top_allocated"][0]["name"], "make_buffer");
}

/// Three samples stand for some 1.5 MiB; 600 KiB was counted.
TEST(Summary, LiveIsAtMostWhatWasCounted) {
  profile::example::RecordingBuilder builder;
  const auto process = builder.process("/usr/bin/server", 1);
  const auto thread = builder.thread(process, "server", 1);
  const auto module = builder.module("/usr/bin/server", 0x400000);
  const auto stack = builder.stack({builder.location(module, 2, {"make"})});
  for (int i = 0; i < 3; ++i) builder.sample(thread, stack, 1000, 10 * i);
  profile::Thread& counted = builder.recording().threads[thread];
  counted.bytes = counted.trials = 600 * kKiB;
  counted.hits = 3;
  const auto live_of = [&] {
    return shown_bytes(summary_report(builder.recording(), {}).live_at_end);
  };
  const estimation::Estimate live = live_of();
  EXPECT_EQ(live.value, 600.0 * kKiB);
  EXPECT_EQ(live.interval.hi, 600.0 * kKiB);
  EXPECT_GT(live.interval.lo, 0);
  EXPECT_LT(live.interval.lo, live.value);
  builder.recording().processes[0].segments = {{.number = 3}};
  EXPECT_GT(live_of().value, kMiB) << "what the first segments counted is missing";
}

TEST(Summary, ClosingLinesFitBehindAnyProgram) {
  const Recording recording = small_server();
  SummaryOptions options;
  options.run = "geiger-server.4711";
  EXPECT_EQ(
      closing_lines(summary_report(recording, options), recording, {}),
      "geiger: at the peak make_buffer (main.cc:1280) held 91 % [89, 93] of 138 MiB [121, 144]\n"
      "geiger: allocated 144 MiB (exact; samples agree: 146 MiB ± 17), in 253 samples\n"
      "geiger: live at the peak 138 MiB [121, 144], at the end 43.9 MiB [36.7, 52.6]\n"
      "geiger: next: geiger table geiger-server.4711 --kind peak, or geiger summary "
      "geiger-server.4711\n");
}

}  // namespace
}  // namespace geiger::report
