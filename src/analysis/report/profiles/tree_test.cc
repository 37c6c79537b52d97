#include "analysis/report/profiles/tree.h"

#include <gmock/gmock.h>

#include <cctype>
#include <nlohmann/json.hpp>
#include <sstream>

#include "analysis/present/text.h"
#include "analysis/profile/testing/example_recording.h"

namespace geiger::report {
namespace {

using profile::Kind;
using profile::Recording;
using profile::example::RecordingBuilder;
using profile::example::small_server;
using ::testing::HasSubstr;

TreeReport tree_of(const Recording& recording, const TreeOptions& options = {}) {
  return tree_report(recording, profile::select(recording, Kind::kAllocated), options);
}

TEST(Tree, ReadsLikeThis) {
  EXPECT_EQ(to_text(tree_of(small_server()), {}),
            R"(Allocated, callers first: 144 MiB exactly from 253 samples, 95 % intervals

   total                     share             samples  call tree
 144 MiB exactly             100 %                 253  all
 144 MiB [142, 144]          100 % [98, 100]       253  main (main.cc:256)
 132 MiB [130, 132]           92 % [90, 92]        252  ├─ serve (main.cc:512)
 126 MiB [121, 129]           88 % [84, 90]        240  │  ├─ make_buffer (main.cc:1280)
5.92 MiB [3.09, 10.17]       4.1 % [2.1, 7.1]       12  │  └─ read_request › grow (main.cc:768)
  12 MiB exact + < 1.85 MiB  8.3 % [8.3, 9.7]        1  └─ load_table (main.cc:1536)

Figures with at least 5 samples are calibrated to the exact total of 144 MiB.
)");
}

TEST(Tree, InvertedStartsAtTheCallees) {
  TreeOptions options;
  options.is_inverted = true;
  const TreeReport report = tree_of(small_server(), options);
  EXPECT_EQ(report.lines[1].name, "make_buffer");
  EXPECT_EQ(report.lines[2].name, "serve(int)");
  EXPECT_EQ(report.lines[2].parent, 1U);
}

TEST(Tree, LeavesOutSmallBranches) {
  TreeOptions options;
  options.min_percent = 5;
  const TreeReport report = tree_of(small_server(), options);
  EXPECT_EQ(report.lines.size(), 5U);
  EXPECT_EQ(report.nodes, 7U);
  EXPECT_THAT(to_text(report, {}), HasSubstr("2 branch points below 5 % are left out"));
}

TEST(Tree, DepthAndRecursionAreNoMatter) {
  RecordingBuilder builder;
  const auto thread = builder.thread(builder.process("/bin/a", 1), "", 1);
  const auto module = builder.module("/bin/a", 0x1000);
  const auto recursive = builder.location(module, 1, {"recurse"});
  const auto other = builder.location(module, 2, {"other"});
  for (std::size_t depth = 1; depth <= 100; ++depth) {
    std::vector<std::uint32_t> stack(depth, recursive);
    stack.insert(stack.begin(), other);
    builder.sample(thread, builder.stack(stack), 1000, 1);
  }
  builder.sample(thread, builder.stack(std::vector<std::uint32_t>(3000, recursive)), 1000, 1);
  TreeOptions options;
  options.min_percent = 0;
  const TreeReport report = tree_of(builder.recording(), options);
  EXPECT_EQ(report.lines.size(), 3101U);
  const std::string text = to_text(report, {});
  std::size_t widest = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    widest = std::max(widest, present::columns_of(std::string_view(text).substr(at, end - at)));
    at = end + 1;
  }
  EXPECT_LE(widest, present::kDefaultWidth);
  EXPECT_EQ(nlohmann::json::parse(to_json(report))["nodes"].size(), 3101U);
}

TEST(Tree, SharesGiveWayToNames) {
  present::Style style;
  style.width = 70;
  const std::string narrow = to_text(tree_of(small_server()), style);
  EXPECT_THAT(narrow, testing::Not(HasSubstr("share")));
  EXPECT_THAT(narrow, HasSubstr("│  └─ … › grow (main.cc:768)\n"));
  style.width = 100;
  EXPECT_THAT(to_text(tree_of(small_server()), style), HasSubstr("share"));
}

/// A stack, outermost first, in a program without lines.
Recording recording_of(const std::vector<std::string>& functions) {
  RecordingBuilder builder;
  const auto thread = builder.thread(builder.process("/bin/a", 1), "", 1);
  const auto module = builder.module("/bin/a", 0x1000);
  std::vector<std::uint32_t> stack;
  for (std::uint64_t i = 0; i < functions.size(); ++i) {
    stack.insert(stack.begin(), builder.location(module, i + 1, {functions[i]}));
  }
  builder.sample(thread, builder.stack(stack), 1000, 1);
  return builder.recording();
}

TEST(Tree, FunctionsOfAChainAreToldApart) {
  const Recording recording =
      recording_of({"main", "run(int)", "run(long)", "other::run(int)", "run(int)"});
  present::Style style;
  style.width = 200;
  EXPECT_THAT(to_text(tree_of(recording), style),
              HasSubstr("main (main.cc:1) › run(int) (main.cc:2) › run(long) (main.cc:3) › "
                        "other::run (main.cc:4) › run(int) (main.cc:5)\n"));
}

TEST(Tree, FunctionsLookTheSameWhereverTheyAreCalled) {
  RecordingBuilder builder;
  const auto thread = builder.thread(builder.process("/bin/a", 1), "", 1);
  const auto module = builder.module("/bin/a", 0x1000);
  std::vector<std::uint32_t> stack;
  for (std::uint64_t i = 0; i < 40; ++i) {
    const std::string argument = i % 2 == 0 ? "int)" : "long)";
    stack.insert(stack.begin(),
                 builder.location(module, i + 1,
                                  {"some::space::around::it::allocate_for_reading(" + argument}));
    // Each allocates itself: no two have the same figures.
    builder.sample(thread, builder.stack(stack), 1000, 1);
  }
  present::Style style;
  style.width = 82;  // Two columns are the mark of a chain.
  const std::string text = to_text(tree_of(builder.recording()), style);
  EXPECT_THAT(text, HasSubstr("…allocate_for_reading(int)"));
  EXPECT_THAT(text, HasSubstr("…allocate_for_reading(long)"));
  EXPECT_THAT(text, testing::Not(HasSubstr("reading\n")));
}

/// Of each row of a tree its function, after the one that the drawing says called it.
std::vector<std::string> calls_in(const std::string& text) {
  std::vector<std::string> calls, open{"all"};  // By level, the last function of each.
  const std::size_t heading = text.find("call tree");
  const std::size_t column = heading - text.rfind('\n', heading) - 1;
  std::istringstream rows(text.substr(text.find("  all\n") + 6));
  for (std::string row; std::getline(rows, row) && !row.empty();) {
    std::size_t begin = 0;
    while (present::columns_of(row.substr(0, begin)) < column) ++begin;
    row.erase(0, begin);
    std::size_t level = 0;
    for (const std::string_view step : {"│  ", "   ", "├─ ", "└─ "}) {
      for (std::size_t at; (at = row.find(step)) != std::string::npos; ++level) {
        row.erase(at, step.size());
      }
    }
    if (std::isdigit(row[0]) != 0) {
      std::size_t digits = 0;
      level = std::stoul(row, &digits);
      row.erase(0, digits + 1);
    }
    const bool is_chained = row.starts_with("› ") || level == 0;
    if (!is_chained) open.resize(level);
    if (row.starts_with("› ")) row.erase(0, std::string_view("› ").size());
    row.erase(std::min(row.find(" ("), row.size()));
    calls.push_back(open.back() + " " + row);
    if (is_chained) open.pop_back();
    open.push_back(row);
  }
  return calls;
}

TEST(Tree, ShowsWhoCalledWhomAtEveryLevel) {
  constexpr std::uint64_t kLevels = 20;
  RecordingBuilder builder;
  const auto thread = builder.thread(builder.process("/bin/a", 1), "", 1);
  const auto module = builder.module("/bin/a", 0x1000);
  const auto function = [&](const std::string& name) {
    static std::uint64_t address = 0;
    return builder.location(module, ++address, {name});
  };
  // f calls at each level the next f, and g, which calls h alone.
  std::vector<std::uint32_t> stack{function("f0")};
  for (std::uint64_t level = 1; level <= kLevels; ++level) {
    std::vector<std::uint32_t> beside = stack;
    beside.insert(beside.begin(), function("g" + std::to_string(level)));
    builder.sample(thread, builder.stack(beside), 1000, 1);
    beside.insert(beside.begin(), function("h" + std::to_string(level)));
    builder.sample(thread, builder.stack(beside), 1000, 1);
    stack.insert(stack.begin(), function("f" + std::to_string(level)));
    builder.sample(thread, builder.stack(stack), 1000, level);
  }
  TreeOptions options;
  options.min_percent = 0;
  const TreeReport report = tree_of(builder.recording(), options);
  std::vector<std::string> calls;
  for (std::size_t i = 1; i < report.lines.size(); ++i) {
    const TreeLine& line = report.lines[i];
    calls.push_back((line.parent == 0 ? "all" : report.lines[line.parent].name) + " " + line.name);
  }
  ASSERT_EQ(calls.size(), 1 + 3 * kLevels);
  for (const std::size_t width : {70, 100, 200}) {
    present::Style style;
    style.width = width;
    const std::string text = to_text(report, style);
    EXPECT_EQ(calls_in(text), calls) << text;
    EXPECT_THAT(text, HasSubstr("A number before a name is its level"));
  }
}

TEST(Tree, AChainIsOneLineHoweverNarrow) {
  const Recording recording = recording_of({"main", "space::first(int)", "space::second(int)",
                                            "space::third(int)", "space::the_last_one(int)"});
  present::Style style;
  style.width = 84;
  const std::string text = to_text(tree_of(recording), style);
  EXPECT_THAT(text, HasSubstr("main › … › space::the_last_one (main.cc:5)\n"));
  EXPECT_EQ(std::ranges::count(text, '\n'), 7) << text;
  EXPECT_THAT(text, HasSubstr("--names full"));
  style.names = present::Names::kFull;
  EXPECT_THAT(to_text(tree_of(recording), style), HasSubstr("space::third(int) (main.cc:4)"));
}

TEST(Tree, FullNamesAreNeverCut) {
  present::Style style;
  style.width = 60;
  style.names = present::Names::kFull;
  const std::string name = "long_name_of_a_function::" + std::string(100, 'x') + "(int)";
  EXPECT_THAT(to_text(tree_of(recording_of({"main", name})), style), HasSubstr(name));
}

TEST(Tree, JsonNamesParentsInAFlatArray) {
  const auto json = nlohmann::json::parse(to_json(tree_of(small_server())));
  EXPECT_EQ(json["schema_version"], 1);
  EXPECT_EQ(json["report"], "tree");
  const auto& nodes = json["nodes"];
  EXPECT_FALSE(nodes[0].contains("parent"));
  EXPECT_EQ(nodes[1]["parent"], 0);
  EXPECT_EQ(nodes[2]["name"], "serve(int)");
  EXPECT_EQ(nodes[3]["parent"], 2);
  EXPECT_EQ(nodes[3]["self"]["samples"], 240);
}

TEST(Tree, OfNothing) {
  EXPECT_THAT(to_text(tree_of({}), {}), HasSubstr("No samples."));
  EXPECT_EQ(nlohmann::json::parse(to_json(tree_of({})))["nodes"].size(), 1U);
}

}  // namespace
}  // namespace geiger::report
