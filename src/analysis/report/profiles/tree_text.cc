#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "analysis/naming/display_name.h"
#include "analysis/present/function_names.h"
#include "analysis/present/grid.h"
#include "analysis/present/heading.h"
#include "analysis/present/text.h"
#include "analysis/present/unnamed.h"
#include "analysis/report/profiles/tree.h"

namespace geiger::report {
namespace {

/// Indentation stops growing here at the latest; deeper branches keep their order.
constexpr std::size_t kDeepestIndent = 14;
constexpr std::size_t kIndent = 3;
/// Columns that the tree needs before shares get a column of their own.
constexpr std::size_t kRoomForTreeName = 36;

/// Where a line's branches and its descendants' lines begin.
struct Indent {
  std::string lead;   ///< Before the name.
  std::string below;  ///< Before the names of all descendants.
  std::size_t depth = 0;
};

/// An only child continues its parent's column; siblings branch off.
Indent indent_of(const Indent& parent, bool is_only_child, bool is_last, std::size_t deepest) {
  if (is_only_child) return {parent.below, parent.below, parent.depth};
  if (parent.depth >= deepest) return {parent.below + "· ", parent.below, parent.depth};
  return {parent.below + (is_last ? "└─ " : "├─ "), parent.below + (is_last ? "   " : "│  "),
          parent.depth + 1};
}

std::vector<Indent> indents_of(const std::vector<TreeLine>& lines, std::size_t deepest) {
  std::vector<Indent> indents(lines.size());
  std::vector<std::uint32_t> seen(lines.size(), 0);
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const std::uint32_t parent = lines[i].parent;
    const std::uint32_t siblings = lines[parent].children;
    const bool is_last = ++seen[parent] == siblings;
    indents[i] = indent_of(indents[parent], siblings == 1, is_last, deepest);
  }
  return indents;
}

/// Columns that every name of the tree finds enough.
std::size_t columns_for_names(const TreeReport& report, const present::Style& style) {
  std::size_t most = 0;
  if (style.names == present::Names::kFull) return most;
  std::unordered_set<std::string_view> met;
  for (std::size_t i = 1; i < report.lines.size(); ++i) {
    const std::string& name = report.lines[i].name;
    if (met.insert(name).second) most = std::max(most, present::columns_needed(name));
  }
  return most;
}

std::string where_of(const TreeLine& line) {
  const std::string where = text_of(line.where);
  return where.empty() ? "" : fmt::format(" ({})", present::printable(where));
}

/// The names of all lines, each as wide as the place where it has least room allows: a function has
/// one name wherever it is called, and no other has the same.
class LineNames {
 public:
  LineNames(const TreeReport& report, const std::vector<Indent>& indents, std::size_t room,
            const present::Style& style);

  [[nodiscard]] const std::string& at(std::size_t line) const { return shown_[function_[line]]; }

 private:
  void add(const TreeLine& line, std::size_t room);

  std::vector<std::size_t> function_;  ///< Of each line.
  std::unordered_map<std::string_view, std::size_t> known_;
  std::vector<naming::Named> functions_;
  std::vector<std::size_t> needed_;  ///< Columns, of each function.
  std::vector<std::string> shown_;
};

LineNames::LineNames(const TreeReport& report, const std::vector<Indent>& indents, std::size_t room,
                     const present::Style& style) {
  for (std::size_t i = 0; i < report.lines.size(); ++i) {
    const std::size_t used = present::columns_of(indents[i].lead);
    add(report.lines[i], room > used ? room - used : 1);
  }
  for (const naming::Named& function : functions_) {
    shown_.push_back(present::printable(function.demangled));
  }
  if (style.names == present::Names::kFull) return;
  for (std::size_t i = 0; i < functions_.size(); ++i) functions_[i].demangled = shown_[i];
  shown_ = naming::distinct_names(functions_);
}

void LineNames::add(const TreeLine& line, std::size_t room) {
  const auto [at, is_new] = known_.emplace(line.name, functions_.size());
  function_.push_back(at->second);
  if (is_new) {
    functions_.push_back({line.name, {}, room, line.where.line});
    needed_.push_back(present::columns_needed(line.name));
  }
  const std::size_t where = present::columns_of(where_of(line));
  if (needed_[at->second] + where <= room) room -= where;
  naming::Named& function = functions_[at->second];
  function.columns = std::min(function.columns, room);
  if (function.line == 0) function.line = line.where.line;
}

/// Whether a line says no more than the one above it: its only child, with all of its samples.
bool continues_parent(const TreeReport& report, std::size_t index) {
  const std::uint32_t parent = report.lines[index].parent;
  if (parent == 0 || report.lines[parent].children != 1) return false;
  const present::Measure& above = report.lines[parent].total;
  const present::Measure& below = report.lines[index].total;
  return above.samples == below.samples &&
         present::shown_bytes(above).value == present::shown_bytes(below).value;
}

/// The names of a line and of those that continue it, as long as they find room.
struct Chain {
  std::size_t line = 0;
  std::string text;
};

std::vector<Chain> chains_of(const TreeReport& report, std::size_t room,
                             const present::Style& style) {
  constexpr std::string_view kCalled = " › ";
  const std::size_t least = std::min(columns_for_names(report, style), room);
  const std::size_t deepest = std::min((room - least) / kIndent, kDeepestIndent);
  const std::vector<Indent> indents = indents_of(report.lines, deepest);
  const LineNames names(report, indents, room, style);
  std::vector<Chain> chains{{0, "all"}};
  for (std::size_t i = 1; i < report.lines.size(); ++i) {
    const std::string name = names.at(i);
    const std::string where = where_of(report.lines[i]);
    if (continues_parent(report, i)) {
      std::string& text = chains.back().text;
      const std::string link = std::string(kCalled).append(name).append(where);
      if (present::columns_of(text) + present::columns_of(link) <= room) {
        text += link;
        continue;
      }
    }
    chains.push_back({i, indents[i].lead + name});
    const bool has_room =
        present::columns_of(chains.back().text) + present::columns_of(where) <= room;
    if (has_room || style.names == present::Names::kFull) chains.back().text += where;
  }
  return chains;
}

present::Grid grid_of(const TreeReport& report, const std::vector<Chain>& chains, bool has_share) {
  std::vector<present::Column> columns;
  present::append_figure_columns(columns, "total");
  if (has_share) present::append_figure_columns(columns, "share");
  columns.push_back(
      {std::string(present::count_heading(report.kind)), present::Align::kRight, false});
  columns.push_back({"call tree", present::Align::kLeft, false});
  present::Grid grid(std::move(columns));
  for (const Chain& chain : chains) {
    const TreeLine& line = report.lines[chain.line];
    std::vector<std::string> cells;
    present::append_figure(
        cells, chain.line == 0
                   ? present::total_figure(line.total)
                   : present::figure(present::shown_bytes(line.total), present::Quantity::kBytes));
    if (has_share) present::append_figure(cells, present::figure(line.share));
    cells.push_back(present::exact_count(line.total.samples));
    cells.push_back(chain.text);
    grid.add(std::move(cells));
    grid.keep_whole();
  }
  return grid;
}

/// The shares give way where the names would have little room, as in a table.
present::Grid fitting_grid(const TreeReport& report, const present::Style& style) {
  std::vector<Chain> figures;
  for (std::size_t i = 0; i < report.lines.size(); ++i) figures.push_back({i, ""});
  const std::size_t with_share = grid_of(report, figures, true).room_for_cut(style.width);
  const std::size_t needed = columns_for_names(report, style) + 2 * kIndent;
  const bool has_share = with_share >= std::max(kRoomForTreeName, needed);
  const std::size_t room =
      has_share ? with_share : grid_of(report, figures, false).room_for_cut(style.width);
  return grid_of(report, chains_of(report, room, style), has_share);
}

std::string footer(const TreeReport& report, const present::Style& style) {
  std::string out;
  if (report.nodes > report.lines.size()) {
    out += fmt::format("{} below {:.3g} % {} left out (--min-percent).\n",
                       present::plural(report.nodes - report.lines.size(), "branch point"),
                       report.options.min_percent,
                       report.nodes - report.lines.size() == 1 ? "is" : "are");
  }
  out += present::unnamed_note(report.lines, &TreeLine::name, style.width);
  return present::profile_footer(std::move(out), report.calibrated_to, report.is_split, style);
}

}  // namespace

std::string to_text(const TreeReport& report, const present::Style& style) {
  std::string out = present::profile_heading(
      report.kind, report.options.is_inverted ? "callees first" : "callers first",
      report.lines.front().total, style, report.options.scope);
  if (report.lines.front().total.samples == 0) {
    return out + present::nothing_sampled(report.kind, report.options.scope);
  }
  return out + fitting_grid(report, style).text(style) + footer(report, style);
}

}  // namespace geiger::report
