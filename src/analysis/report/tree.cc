#include "analysis/report/tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "analysis/profile/view.h"
#include "analysis/report/function_names.h"
#include "analysis/report/grid.h"
#include "analysis/report/heading.h"
#include "analysis/report/json.h"
#include "analysis/report/share.h"
#include "analysis/report/stack_json.h"
#include "analysis/report/text.h"

namespace geiger::report {
namespace {

using profile::Tree;
using profile::TreeNode;

/// Indentation stops growing here; deeper branches keep their order.
constexpr std::size_t kDeepestIndent = 14;
/// Columns that the tree needs before shares get a column of their own.
constexpr std::size_t kRoomForName = 36;

struct Pending {
  std::uint32_t node, parent;
};

/// The children that reach `least`, as shown, the largest first.
std::vector<std::uint32_t> large_children(const Tree& tree, const TreeNode& node,
                                          const Whole& whole, double least) {
  const auto bytes = [&](std::uint32_t child) {
    return whole.bytes_for_order(tree.nodes[child].total);
  };
  std::vector<std::uint32_t> large;
  for (const std::uint32_t child : node.children) {
    if (bytes(child) >= least) large.push_back(child);
  }
  // They come ordered by what their own samples say, ties by name.
  std::ranges::stable_sort(large, std::greater<>(), bytes);
  return large;
}

TreeLine line_of(const TreeNode& node, std::uint32_t parent, const Whole& whole,
                 const TreeOptions& options) {
  const Measure total = whole.measure_row(node.total, options.level);
  return {node.name,
          node.where,
          parent,
          0,
          whole.measure_row(node.self, options.level),
          total,
          share_of(total, node.total, whole, options.level)};
}

/// Where a line's branches and its descendants' lines begin.
struct Indent {
  std::string lead;   ///< Before the name.
  std::string below;  ///< Before the names of all descendants.
  std::size_t depth = 0;
};

/// An only child continues its parent's column; siblings branch off.
Indent indent_of(const Indent& parent, bool is_only_child, bool is_last) {
  if (is_only_child) return {parent.below, parent.below, parent.depth};
  if (parent.depth >= kDeepestIndent) return {parent.below + "· ", parent.below, parent.depth};
  return {parent.below + (is_last ? "└─ " : "├─ "), parent.below + (is_last ? "   " : "│  "),
          parent.depth + 1};
}

std::vector<Indent> indents_of(const std::vector<TreeLine>& lines) {
  std::vector<Indent> indents(lines.size());
  std::vector<std::uint32_t> seen(lines.size(), 0);
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const std::uint32_t parent = lines[i].parent;
    const std::uint32_t siblings = lines[parent].children;
    const bool is_last = ++seen[parent] == siblings;
    indents[i] = indent_of(indents[parent], siblings == 1, is_last);
  }
  return indents;
}

std::string name_of(const TreeLine& line, std::size_t index, const Style& style) {
  if (index == 0) return "all";
  const std::string where = text_of(line.where);
  const std::string name = function_text(line.name, style.width, style);
  return where.empty() ? name : fmt::format("{} ({})", name, printable(where));
}

/// Whether a line says no more than the one above it: its only child, with all of its samples.
bool continues_parent(const TreeReport& report, std::size_t index) {
  const std::uint32_t parent = report.lines[index].parent;
  if (parent == 0 || report.lines[parent].children != 1) return false;
  const Measure& above = report.lines[parent].total;
  const Measure& below = report.lines[index].total;
  return above.samples == below.samples && shown_bytes(above).value == shown_bytes(below).value;
}

/// The names of a line and of those that continue it, as long as they find room.
struct Chain {
  std::size_t line = 0;
  std::string text;
};

std::vector<Chain> chains_of(const TreeReport& report, std::size_t room, const Style& style) {
  constexpr std::string_view kCalled = " › ";
  const std::vector<Indent> indents = indents_of(report.lines);
  std::vector<Chain> chains;
  for (std::size_t i = 0; i < report.lines.size(); ++i) {
    const std::string name = name_of(report.lines[i], i, style);
    if (i > 0 && continues_parent(report, i)) {
      std::string& text = chains.back().text;
      if (columns_of(text) + columns_of(kCalled) + columns_of(name) <= room) {
        text += std::string(kCalled) + name;
        continue;
      }
    }
    chains.push_back({i, indents[i].lead + name});
  }
  return chains;
}

Grid grid_of(const TreeReport& report, const std::vector<Chain>& chains, bool has_share) {
  std::vector<Column> columns;
  append_figure_columns(columns, "total");
  if (has_share) append_figure_columns(columns, "share");
  columns.push_back({std::string(count_heading(report.kind)), Align::kRight, false});
  columns.push_back({"call tree", Align::kLeft, false});
  Grid grid(std::move(columns));
  for (const Chain& chain : chains) {
    const TreeLine& line = report.lines[chain.line];
    std::vector<std::string> cells;
    append_figure(cells, chain.line == 0 ? total_figure(line.total)
                                         : figure(shown_bytes(line.total), Quantity::kBytes));
    if (has_share) append_figure(cells, figure(line.share));
    cells.push_back(exact_count(line.total.samples));
    cells.push_back(chain.text);
    grid.add(std::move(cells));
  }
  return grid;
}

/// The shares give way where the names would have little room, as in a table.
Grid fitting_grid(const TreeReport& report, const Style& style) {
  // How much room there is for names depends on the figures alone.
  const std::vector<Chain> apart = chains_of(report, 0, style);
  const std::size_t with_share = grid_of(report, apart, true).room_for_cut(style.width);
  const bool has_share = with_share >= kRoomForName;
  const std::size_t room =
      has_share ? with_share : grid_of(report, apart, false).room_for_cut(style.width);
  return grid_of(report, chains_of(report, room, style), has_share);
}

std::string footer(const TreeReport& report, const Style& style) {
  std::string out;
  if (report.nodes > report.lines.size()) {
    out += fmt::format("{} below {:.3g} % {} left out (--min-percent).\n",
                       plural(report.nodes - report.lines.size(), "branch point"),
                       report.options.min_percent,
                       report.nodes - report.lines.size() == 1 ? "is" : "are");
  }
  return profile_footer(std::move(out), report.calibrated_to, report.is_halved, style);
}

void write_line(JsonWriter& json, const TreeLine& line, std::size_t index) {
  json.begin_object().field("id", index);
  if (index > 0) json.field("parent", line.parent);
  write_name(json, line.name, index > 0);
  write_field(json, line.where);
  write_fields(json, line.self, line.total);
  write_field(json, line.share);
  json.end_object();
}

}  // namespace

TreeReport tree_report(const profile::Recording& recording, const profile::Profile& profile,
                       const TreeOptions& options) {
  const Tree tree = profile::tree(recording, profile, options.is_inverted);
  const Whole whole(recording, profile);
  const Measure total = whole.measure_total(options.level);
  const double least = options.min_percent / 100 * shown_bytes(total).value;
  TreeReport report{profile.kind,      options, profile.rate_factor < 1,
                    tree.nodes.size(), {},      whole.calibrated_to()};
  std::vector<Pending> pending{{0, 0}};
  while (!pending.empty()) {
    const Pending next = pending.back();
    pending.pop_back();
    const auto line = static_cast<std::uint32_t>(report.lines.size());
    const TreeNode& node = tree.nodes[next.node];
    report.lines.push_back(line_of(node, next.parent, whole, options));
    const std::vector<std::uint32_t> children = large_children(tree, node, whole, least);
    report.lines.back().children = static_cast<std::uint32_t>(children.size());
    for (auto at = children.rbegin(); at != children.rend(); ++at) pending.push_back({*at, line});
  }
  report.lines.front().total = total;
  report.lines.front().share = {1, {1, 1}};
  return report;
}

std::string to_text(const TreeReport& report, const Style& style) {
  std::string out =
      profile_heading(report.kind, report.options.is_inverted ? "callees first" : "callers first",
                      report.lines.front().total, style, report.options.scope);
  if (report.lines.front().total.samples == 0) {
    return out + nothing_sampled(report.kind, report.options.scope);
  }
  return out + fitting_grid(report, style).text(style) + footer(report, style);
}

std::string to_json(const TreeReport& report) {
  JsonWriter json;
  json.begin_object().field("schema_version", kSchemaVersion).field("report", "tree");
  json.field("kind", profile::name_of(report.kind)).field("level", report.options.level);
  json.field("is_inverted", report.options.is_inverted).field("is_halved", report.is_halved);
  json.field("min_percent", report.options.min_percent).field("node_count", report.nodes);
  write_field(json, report.options.scope);
  const Measure& total = report.lines.front().total;
  if (total.calibrated) json.field("exact_bytes", total.calibrated->value);
  json.key("nodes").begin_array();
  for (std::size_t i = 0; i < report.lines.size(); ++i) write_line(json, report.lines[i], i);
  json.end_array().end_object();
  return json.take();
}

}  // namespace geiger::report
