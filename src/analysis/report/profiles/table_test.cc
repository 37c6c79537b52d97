#include "analysis/report/profiles/table.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "analysis/present/text.h"
#include "analysis/profile/testing/example_recording.h"

namespace geiger::report {
namespace {

using profile::GroupBy;
using profile::Kind;
using profile::Recording;
using profile::example::RecordingBuilder;
using profile::example::small_server;
using ::testing::HasSubstr;
using ::testing::Not;

TableReport table_of(const Recording& recording, const TableOptions& options = {},
                     Kind kind = Kind::kAllocated) {
  return table_report(recording, profile::select(recording, kind), options);
}

TEST(Table, ReadsLikeThis) {
  EXPECT_EQ(to_text(table_of(small_server()), {}),
            R"(Allocated, by function: 144 MiB exactly from 253 samples, 95 % intervals

       self                     share             samples  function     where
    126 MiB [121, 129]           88 % [84, 90]        240  make_buffer  main.cc:1280  server
     12 MiB exact + < 1.85 MiB  8.3 % [8.3, 9.7]        1  load_table   main.cc:1536  server
   5.92 MiB [3.09, 10.17]       4.1 % [2.1, 7.1]       12  grow         main.cc:768  server

3 functions without samples of their own: --sort total shows them.
Figures with at least 5 samples are calibrated to the exact total of 144 MiB.
)");
}

/// The samples of a small program in Python: an object with a type, and one of them freed.
Recording small_script() {
  Recording recording = small_server();
  recording.types = {{"app.Node"}};
  for (std::size_t i = 0; i < 4; ++i) {
    profile::Sample& sample = recording.samples[i];
    sample.entry_point = profile::EntryPoint::kPyObjectMalloc;
    if (i < 3) sample.type = 0;
    sample.free_time = i == 0 ? sample.time + 1 : 0;
  }
  return recording;
}

TEST(Table, OfTypesSaysOfHowManyPythonObjectsTheTypeIsKnown) {
  Recording recording = small_script();
  TableOptions by_type;
  by_type.by = GroupBy::kType;
  EXPECT_THAT(to_text(table_of(recording, by_type), {}),
              HasSubstr("3 of 4 sampled Python objects have a type: the process was not observed"));
  recording.observations.emplace_back();
  EXPECT_THAT(to_text(table_of(recording, by_type), {}),
              HasSubstr("3 of 4 sampled Python objects have a type: the others are parts of"));
  const TableReport live = table_of(recording, by_type, Kind::kLiveAtEnd);
  EXPECT_THAT(to_text(live, {}), HasSubstr("2 of 3 sampled Python objects live at the end have"));
  const auto json = nlohmann::json::parse(to_json(live, recording))["python_objects"];
  EXPECT_EQ(json["samples"], 3);
  EXPECT_EQ(json["typed"], 2);
  EXPECT_EQ(json["fault"], "");
  recording.observations[0].types.fault = "mem: Permission denied";
  EXPECT_THAT(to_text(table_of(recording, by_type), {}), HasSubstr("mem: Permission denied."));
  EXPECT_THAT(to_text(table_of(recording), {}), Not(HasSubstr("Python")));
  EXPECT_THAT(to_text(table_of(small_server(), by_type), {}), Not(HasSubstr("Python")));
  Recording aggregated = recording;
  for (const profile::Sample& sample : aggregated.samples) {
    aggregated.tallies.push_back({.alike = sample, .allocated = 5, .freed = 2});
    aggregated.tallies.back().alike.type = profile::kNone;
  }
  aggregated.samples.clear();
  EXPECT_THAT(to_text(table_of(aggregated, by_type), {}),
              HasSubstr("0 of 20 sampled Python objects have a type: the recording is aggregated"));
  recording.samples[3].type = 0;
  recording.observations[0].types.fault.clear();
  EXPECT_THAT(to_text(table_of(recording, by_type), {}), Not(HasSubstr("Python object")));
}

TEST(Table, ObjectsOfUnknownTypeMayBeOfAnyType) {
  Recording recording = small_script();
  recording.types.push_back({"app.Leaf"});
  recording.samples[1].type = 1;
  TableOptions by_type;
  by_type.by = GroupBy::kType;
  const TableReport all = table_of(recording, by_type);
  ASSERT_EQ(all.lines.size(), 3U);
  ASSERT_EQ(all.lines[0].name, "[unknown]");
  const double unknown = all.lines[0].self.bytes.value;
  EXPECT_EQ(all.lines[0].self.bytes.open, 0);
  for (const std::size_t i : {1U, 2U}) {
    EXPECT_EQ(all.lines[i].self.bytes.open, unknown);
    EXPECT_GT(shown_bytes(all.lines[i].self).interval.hi, unknown);
    EXPECT_LT(shown_bytes(all.lines[i].self).value, unknown / 10);
  }
  EXPECT_THAT(to_text(all, {}), HasSubstr("open in all other rows, in upper limits only: "));
  by_type.top = 1;
  EXPECT_EQ(table_of(recording, by_type).others.bytes.open, unknown) << "once for both rows";
  by_type.top = 0;
  EXPECT_EQ(table_of(recording, by_type).others.bytes.open, 0) << "of no row";
}

/// A function at one line with four callers that others share, and one of its own line.
Recording look_alikes() {
  RecordingBuilder builder;
  const auto thread = builder.thread(builder.process("/bin/a", 1), "", 1);
  const auto module = builder.module("/bin/a", 0x1000);
  const auto leaf = builder.location(module, 7, {"make_buffer"});
  const auto read = builder.location(module, 20, {"read_request"});
  const auto near = builder.location(module, 30, {"serve_connection"});
  const auto far = builder.location(module, 31, {"serve_connection"});
  const auto loop = builder.location(module, 40, {"event_loop"});
  const auto main = builder.location(module, 50, {"main"});
  const auto append = builder.location(module, 60, {"std::string::append(char)"});
  for (const auto& stack :
       {std::vector{leaf, read, near, main}, std::vector{leaf, read, near, loop, main},
        std::vector{leaf, read, far, main}, std::vector{append, leaf, read, near, main},
        std::vector{leaf, main}}) {
    builder.sample(thread, builder.stack(stack), 1000, 1);
  }
  return builder.recording();
}

TEST(Table, StacksThatLookAlikeAreToldApart) {
  TableOptions by_stack;
  by_stack.by = GroupBy::kStack;
  for (const std::size_t width : {60U, 80U, 100U, 160U}) {
    present::Style style;
    style.width = width;
    const std::string text = to_text(table_of(look_alikes(), by_stack), style);
    EXPECT_THAT(text, HasSubstr("main.cc:7"));
    EXPECT_THAT(text, HasSubstr("read_request < serve_connection < event_loop"));
    EXPECT_THAT(text, HasSubstr("› string::append"));
    EXPECT_THAT(text, HasSubstr("serve_connection (main.cc:31)"));
    EXPECT_THAT(text, Not(HasSubstr("serve_conn…")));
  }
}

// One thread that was cut off, one lost sample, one damaged place, one process in
// pure mode: then rows stand on their own samples.
TEST(Table, CalibratesOnlyToWhatIsKnownExactly) {
  const auto is_calibrated = [](const Recording& recording) {
    return table_of(recording).lines[0].self.calibrated.has_value();
  };
  const Recording whole = small_server();
  EXPECT_TRUE(is_calibrated(whole));
  const auto without = [&](const std::function<void(Recording&)>& change) {
    Recording changed = whole;
    change(changed);
    return !is_calibrated(changed);
  };
  EXPECT_TRUE(without([](Recording& r) { r.threads[1].armed = 1; }));
  EXPECT_TRUE(without([](Recording& r) { r.processes[0].drops[0] = 1; }));
  EXPECT_TRUE(without([](Recording& r) { r.processes[0].drops[1] = 1; }));
  EXPECT_FALSE(without([](Recording& r) { r.processes[0].drops[3] = 1; }));
  EXPECT_TRUE(without([](Recording& r) { r.processes[0].uncommitted = 1; }));
  EXPECT_TRUE(without([](Recording& r) { r.processes[0].ending = profile::Ending::kKilled; }));
  EXPECT_TRUE(without([](Recording& r) { r.warnings.emplace_back("damaged"); }));
  EXPECT_TRUE(without([](Recording& r) { r.threads[1].bytes = kMiB; }));
  EXPECT_TRUE(without([](Recording& r) { r.processes[0].is_pure = true; }));
}

/// Its upper limit ends at what was allocated, as nothing more can be live.
TEST(Table, NeverCalibratesWhatIsLiveToATotal) {
  for (const Kind kind : {Kind::kLiveAtEnd, Kind::kLiveAtPeak}) {
    const TableReport report = table_of(small_server(), {}, kind);
    for (const present::Measure& measure : {report.total, report.lines[0].self}) {
      EXPECT_FALSE(is_counted(measure));
      EXPECT_EQ(shown_bytes(measure).value, measure.bytes.value);
      EXPECT_EQ(shown_bytes(measure).interval.hi,
                std::min(measure.bytes.interval.hi, 144.0 * kMiB));
    }
    EXPECT_FALSE(report.calibrated_to);
  }
}

TEST(Table, CalibratedRowsAddUpToTheExactTotal) {
  double sum = 0;
  for (const TableLine& line : table_of(small_server()).lines) {
    // load_table is one certain object, exact as it is.
    if (line.self.samples > 0) sum += present::shown_bytes(line.self).value;
  }
  EXPECT_NEAR(sum, 144 * kMiB, 1);
}

TEST(Table, JsonKeepsTheEstimateBesideTheCalibratedOne) {
  const Recording recording = small_server();
  const auto json = nlohmann::json::parse(to_json(table_of(recording), recording));
  EXPECT_EQ(json["exact_bytes"], 144 * kMiB);
  EXPECT_EQ(json["total"]["calibrated"]["lo"], 144 * kMiB);
  EXPECT_GT(json["total"]["bytes"]["hi"], 160.0 * kMiB);
  const auto& self = json["rows"][0]["self"];
  EXPECT_LT(self["calibrated"]["variance"], self["bytes"]["variance"]);
  EXPECT_FALSE(json["rows"][1]["self"].contains("calibrated"));
}

TEST(Table, HasAShareWhereThereIsRoom) {
  present::Style wide;
  wide.width = 140;
  EXPECT_THAT(to_text(table_of(small_server()), wide), HasSubstr(" 88 % [84, 90]  "));
}

TEST(Table, NoLineIsWiderThanTheTerminal) {
  RecordingBuilder builder;
  const auto thread = builder.thread(builder.process("/bin/a", 1), "", 1);
  const auto module = builder.module("/bin/a", 0x1000);
  const std::string name(1000, 'n');
  builder.sample(thread, builder.stack({builder.location(module, 1, {name})}), 100, 1);
  const std::string text = to_text(table_of(builder.recording()), {});
  EXPECT_THAT(text, HasSubstr("nnn…nnn"));
  EXPECT_LT(text.size(), 500U);
}

TEST(Table, CutsToTheTopAndSumsUpTheRest) {
  TableOptions options;
  options.top = 1;
  const TableReport report = table_of(small_server(), options);
  ASSERT_EQ(report.lines.size(), 1U);
  EXPECT_EQ(report.rows, 6U);
  EXPECT_EQ(report.others.samples, 13U);
  EXPECT_THAT(to_text(report, {}), HasSubstr("2 more functions: 17.9 MiB"));
}

TEST(Table, HasRowsWithoutSamplesOfTheirOwnOnlyWhereAsked) {
  TableOptions options;
  TableReport report = table_of(small_server(), options);
  EXPECT_EQ(report.lines.size(), 3U);
  EXPECT_EQ(report.callers, 3U);
  options.top = 0;
  report = table_of(small_server(), options);
  EXPECT_EQ(report.lines.size(), 6U);
  EXPECT_EQ(report.callers, 0U);
  options.top = 30;
  options.sort = SortBy::kTotal;
  EXPECT_EQ(table_of(small_server(), options).lines.size(), 6U);
}

TEST(Table, NamesModulesWhereOthersHaveLines) {
  TableOptions options;
  options.sort = SortBy::kTotal;
  const std::string text = to_text(table_of(small_server(), options), {});
  const std::size_t line = text.find("main.cc:1280");
  const std::size_t module = text.find("server\n");
  ASSERT_NE(line, std::string::npos);
  ASSERT_NE(module, std::string::npos);
  const auto column = [&](std::size_t at) {
    return present::columns_of(
        std::string_view(text).substr(text.rfind('\n', at) + 1, at - text.rfind('\n', at) - 1));
  };
  EXPECT_EQ(column(line), column(module)) << text;
}

TEST(Table, MarksRowsThatMayBeInTheWrongOrder) {
  RecordingBuilder builder;
  const auto thread = builder.thread(builder.process("/bin/a", 1), "", 1);
  const auto module = builder.module("/bin/a", 0x1000);
  const auto first = builder.stack({builder.location(module, 1, {"first"})});
  const auto second = builder.stack({builder.location(module, 2, {"second"})});
  const auto third = builder.stack({builder.location(module, 3, {"third"})});
  for (int i = 0; i < 400; ++i) builder.sample(thread, first, 100, 1);
  for (int i = 0; i < 20; ++i) builder.sample(thread, second, 100, 1);
  for (int i = 0; i < 18; ++i) builder.sample(thread, third, 100, 1);
  TableOptions options;
  options.top = 2;
  const TableReport report = table_of(builder.recording(), options);
  EXPECT_FALSE(report.lines[0].is_order_uncertain);
  EXPECT_TRUE(report.lines[1].is_order_uncertain) << "against the first row left out";
  EXPECT_THAT(to_text(report, {}), HasSubstr("\n~  10.0 MiB"));
}

TEST(Table, SortsByWhatItIsTold) {
  TableOptions options;
  options.sort = SortBy::kTotal;
  EXPECT_EQ(table_of(small_server(), options).lines[0].name, "main");
  options.sort = SortBy::kName;
  EXPECT_EQ(table_of(small_server(), options).lines[0].name, "grow");
  options.sort = SortBy::kSamples;
  EXPECT_EQ(table_of(small_server(), options).lines[1].name, "grow");
}

TEST(Table, SaysWhenNothingIsThere) {
  EXPECT_EQ(to_text(table_of({}), {}),
            "Allocated, by function: 0 B from 0 samples, 95 % intervals\n\n"
            "No samples. Record with a smaller --interval.\n");
  RecordingBuilder builder;
  const auto thread = builder.thread(builder.process("/bin/a", 1), "", 1);
  builder.sample(thread, builder.stack({}), 100, 1, 2);
  EXPECT_THAT(to_text(table_of(builder.recording(), {}, Kind::kLiveAtEnd), {}),
              HasSubstr("No samples of this kind (live at the end)."));
}

TEST(Table, HostileNamesStayHarmless) {
  RecordingBuilder builder;
  const auto thread = builder.thread(builder.process("/bin/a", 1), "", 1);
  const auto module = builder.module("/bin/\x1b]0;title\x07", 0x1000);
  const auto place = builder.location(module, 1, {"a\x1b[2J\nb\xff\"</script>"});
  builder.sample(thread, builder.stack({place}), 100, 1);
  const TableReport report = table_of(builder.recording());
  const std::string text = to_text(report, {});
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_THAT(text, Not(HasSubstr("\x07")));
  const auto json = nlohmann::json::parse(to_json(report, builder.recording()));
  EXPECT_EQ(json["rows"][0]["name"], "a\x1b[2J\nb\xef\xbf\xbd\"</script>");
}

TEST(Table, JsonOfStacksHasTheirFrames) {
  const Recording recording = small_server();
  TableOptions options;
  options.by = GroupBy::kStack;
  const auto json = nlohmann::json::parse(to_json(table_of(recording, options), recording));
  EXPECT_EQ(json["schema_version"], 1);
  EXPECT_EQ(json["by"], "stack");
  EXPECT_EQ(json["row_count"], 3);
  const auto& stack = json["rows"][2]["stack"];
  ASSERT_EQ(stack.size(), 5U);
  EXPECT_EQ(stack[0]["function"], "std::string::_M_create");
  EXPECT_EQ(stack[0]["module"], "/lib/libstdc++.so.6");
  EXPECT_EQ(stack[1]["function"], "grow");
  EXPECT_EQ(stack[1]["file"], "main.cc");
  EXPECT_EQ(stack[4]["function"], "main");
  EXPECT_FALSE(json["rows"][2]["is_truncated"]);
  EXPECT_EQ(json["rows"][0]["self"]["bytes"]["samples"], 240);
}

TEST(Table, NamesEachGroupingOnce) {
  for (int number = 0; number <= static_cast<int>(GroupBy::kHeap); ++number) {
    const auto by = static_cast<GroupBy>(number);
    EXPECT_EQ(std::ranges::count(profile::kGroups, by, &profile::NamedGroup::second), 1) << number;
  }
}

TEST(Table, AsciiMarksForPlainTerminals) {
  const std::string text =
      present::to_ascii_marks(to_text(table_of(small_server(), {}, Kind::kLiveAtPeak), {}));
  EXPECT_THAT(text, HasSubstr(" MiB +- "));
}

TEST(Table, ColoursOnlyWhenAsked) {
  present::Style style;
  style.has_color = true;
  EXPECT_THAT(to_text(table_of(small_server()), style), HasSubstr("\x1b[1mAllocated"));
}

}  // namespace
}  // namespace geiger::report
