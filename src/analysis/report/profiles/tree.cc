#include "analysis/report/profiles/tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "analysis/naming/display_name.h"
#include "analysis/present/function_names.h"
#include "analysis/present/grid.h"
#include "analysis/present/heading.h"
#include "analysis/present/measure.h"
#include "analysis/present/text.h"
#include "analysis/profile/groups/view.h"

namespace geiger::report {

namespace {

using profile::Tree;
using profile::TreeNode;

struct Pending {
  std::uint32_t node, parent;
};

/// The children that reach `least`, as shown, the largest first.
std::vector<std::uint32_t> large_children(const Tree& tree, const TreeNode& node,
                                          const present::Whole& whole, double least) {
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

TreeLine line_of(const TreeNode& node, std::uint32_t parent, const present::Whole& whole,
                 const TreeOptions& options) {
  const present::Measure total = whole.measure_row(node.total, options.level);
  return {node.name,
          node.where,
          parent,
          0,
          whole.measure_row(node.self, options.level),
          total,
          present::share_of(total, node.total, whole, options.level)};
}

/// A line with its number and what its fields need of the others.
struct NodeOf {
  const TreeLine& line;
  std::size_t id;
};

const present::Fields<NodeOf>& fields_of(present::Of<NodeOf> /*type*/) {
  static const auto kFields =
      present::Fields<NodeOf>("tree_node")
          .field("id", "its place in the list", &NodeOf::id)
          .field("parent", "`id` of the node above it; the root has none",
                 [](const NodeOf& it) { return present::if_true(it.id > 0, it.line.parent); })
          .inlined([](const NodeOf& it) {
            return present::Named{it.line.name, it.id > 0};
          })
          .inlined([](const NodeOf& it) { return it.line.where; })
          .field("self", "what it allocated itself", [](const NodeOf& it) { return it.line.self; })
          .field("total", "what it and the nodes below it allocated",
                 [](const NodeOf& it) { return it.line.total; })
          .field("share", "of the whole, by `total`",
                 [](const NodeOf& it) { return it.line.share; });
  return kFields;
}

std::vector<NodeOf> nodes_of(const TreeReport& report) {
  std::vector<NodeOf> rows;
  for (const TreeLine& line : report.lines) rows.push_back({line, rows.size()});
  return rows;
}

}  // namespace

TreeReport tree_report(const profile::Recording& recording, const profile::Profile& profile,
                       const TreeOptions& options) {
  const Tree tree = profile::tree(recording, profile, options.is_inverted);
  const present::Whole whole(recording, profile);
  const present::Measure total = whole.measure_total(options.level);
  const double least = options.min_percent / 100 * present::shown_bytes(total).value;
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
  report.absent = present::absent_modules(recording);
  return report;
}

const present::Fields<TreeReport>& fields_of(present::Of<TreeReport> /*type*/) {
  static const auto kFields =
      present::Fields<TreeReport>("tree")
          .field("kind", "", &TreeReport::kind)
          .field("level", "confidence level of all intervals",
                 [](const TreeReport& it) { return it.options.level; })
          .field("is_inverted", "from the allocating function up",
                 [](const TreeReport& it) { return it.options.is_inverted; })
          .field("is_split", "a quarter of the samples chose the peak, the others were measured",
                 &TreeReport::is_split)
          .field("min_percent", "branches with less of the total are left out",
                 [](const TreeReport& it) { return it.options.min_percent; })
          .field("node_count", "nodes before branches were left out", &TreeReport::nodes)
          .inlined([](const TreeReport& it) { return it.options.scope; })
          .field("exact_bytes", "the total as it was counted",
                 [](const TreeReport& it) { return present::exact_bytes(it.lines.front().total); })
          .field("nodes", "depth first; the first one is the root", &nodes_of);
  return kFields;
}

std::string to_json(const TreeReport& report) { return present::document("tree", report); }

namespace {

/// Indentation stops growing here at the latest; deeper branches have the number of their level.
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
  if (is_only_child) return {parent.below + "› ", parent.below, parent.depth};
  const std::size_t depth = parent.depth + 1;
  if (depth > deepest) return {fmt::format("{}{} ", parent.below, depth), parent.below, depth};
  return {parent.below + (is_last ? "└─ " : "├─ "), parent.below + (is_last ? "   " : "│  "),
          depth};
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
  if (lines.front().children == 1) indents[1].lead.clear();  // It begins the chain.
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
  /// `rooms`: the columns that each line has.
  LineNames(const TreeReport& report, const std::vector<std::size_t>& rooms,
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

LineNames::LineNames(const TreeReport& report, const std::vector<std::size_t>& rooms,
                     const present::Style& style) {
  for (std::size_t i = 0; i < report.lines.size(); ++i) add(report.lines[i], rooms[i]);
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

/// A branch point with the only children that are shown of it and look no different, one below the
/// other.
using Chain = std::vector<std::size_t>;

std::string shown_figures(const TreeLine& line) {
  return present::figure(present::shown_bytes(line.total), present::Quantity::kBytes).text();
}

std::vector<Chain> chains_of(const TreeReport& report) {
  std::vector<Chain> chains{{0}};
  std::string figures;  // Of the chain's first line: small steps do not add up.
  for (std::size_t i = 1; i < report.lines.size(); ++i) {
    const std::uint32_t parent = report.lines[i].parent;
    const bool is_only = parent != 0 && report.lines[parent].children == 1;
    const std::string own = shown_figures(report.lines[i]);
    if (is_only && own == figures) {
      chains.back().push_back(i);
    } else {
      chains.push_back({i});
      figures = own;
    }
  }
  return chains;
}

constexpr std::string_view kCalled = " › ";
constexpr std::string_view kLeftOut = "… › ";

/// A function of a chain, and where it is called: " (leaky.cc:11)".
struct Link {
  std::string name, where;
};

/// "a › b › c"; with little room without the places of callers, then with as many of the last
/// functions as find room after the first: "a › … › c".
std::string joined(const std::vector<Link>& links, std::size_t room) {
  std::string whole, names;
  for (std::size_t i = 0; i < links.size(); ++i) {
    const bool is_last = i + 1 == links.size();
    const std::string_view called = i == 0 ? std::string_view() : kCalled;
    whole.append(called).append(links[i].name).append(links[i].where);
    names.append(called).append(links[i].name).append(is_last ? links[i].where : "");
  }
  if (present::columns_of(whole) <= room) return whole;
  if (links.size() == 1 || present::columns_of(names) <= room) return names;
  std::string begin = links.front().name + std::string(kCalled).append(kLeftOut);
  std::string end = links.back().name + links.back().where;
  if (present::columns_of(begin + end) > room) begin = kLeftOut;
  for (std::size_t i = links.size() - 1; i-- > 1;) {
    std::string longer = links[i].name + std::string(kCalled).append(end);
    if (present::columns_of(begin + longer) > room) break;
    end = std::move(longer);
  }
  return begin + end;
}

/// A line of the text: what it shows of a chain, and whose figures.
struct TreeRow {
  std::size_t line = 0;
  std::string text;
  bool is_cut = false;   ///< Functions of the chain are left out.
  bool is_deep = false;  ///< Its level is a number.
};

/// With full names each function has a line of its own unless the next ones find room after it.
void add_whole_names(const Chain& chain, const std::vector<Link>& links,
                     const std::vector<Indent>& indents, std::size_t room,
                     std::vector<TreeRow>& rows) {
  for (std::size_t i = 0; i < links.size(); ++i) {
    const std::string link = links[i].name + links[i].where;
    if (i > 0) {
      const std::string longer = rows.back().text + std::string(kCalled) + link;
      if (present::columns_of(longer) <= room) {
        rows.back() = {chain[i], longer};
        continue;
      }
    }
    rows.push_back({chain[i], indents[chain[i]].lead + link});
  }
}

std::vector<TreeRow> tree_rows(const TreeReport& report, std::size_t room,
                               const present::Style& style) {
  const std::size_t least = std::min(columns_for_names(report, style), room);
  const std::size_t deepest = std::min((room - least) / kIndent, kDeepestIndent);
  const std::vector<Indent> indents = indents_of(report.lines, deepest);
  const std::vector<Chain> chains = chains_of(report);
  std::vector<std::size_t> rooms;
  for (const Chain& chain : chains) {
    const std::size_t used = present::columns_of(indents[chain.front()].lead);
    const std::size_t mark = chain.size() > 1 ? present::columns_of(kLeftOut) : 0;
    for (std::size_t i = 0; i < chain.size(); ++i) {
      rooms.push_back(room > used + mark ? room - used - mark : 1);
    }
  }
  const LineNames names(report, rooms, style);
  std::vector<TreeRow> rows{{0, "all"}};
  for (const Chain& chain : chains) {
    if (chain.front() == 0) continue;
    std::vector<Link> links;
    const bool is_full = style.names == present::Names::kFull;
    for (const std::size_t i : chain) {
      const std::string& name = names.at(i);
      const std::string where = where_of(report.lines[i]);
      const bool has_room = present::columns_of(name) + present::columns_of(where) <= rooms[i];
      links.push_back({name, has_room || is_full ? where : ""});
    }
    const auto& [lead, below, depth] = indents[chain.front()];
    if (is_full) {
      add_whole_names(chain, links, indents, room, rows);
    } else {
      const std::string text = joined(links, room - std::min(room, present::columns_of(lead)));
      rows.push_back({chain.back(), lead + text, text.find(kLeftOut) != std::string::npos});
    }
    rows.back().is_deep = depth > deepest;
  }
  return rows;
}

present::Grid grid_of(const TreeReport& report, const std::vector<TreeRow>& rows, bool has_share) {
  std::vector<present::Column> columns;
  present::append_figure_columns(columns, "total");
  if (has_share) present::append_figure_columns(columns, "share");
  columns.push_back(
      {std::string(present::count_heading(report.kind)), present::Align::kRight, false});
  columns.push_back({"call tree", present::Align::kLeft, false});
  present::Grid grid(std::move(columns));
  for (const TreeRow& row : rows) {
    const TreeLine& line = report.lines[row.line];
    std::vector<std::string> cells;
    present::append_figure(cells, row.line == 0 ? present::total_figure(line.total)
                                                : present::figure(present::shown_bytes(line.total),
                                                                  present::Quantity::kBytes));
    if (has_share) present::append_figure(cells, present::figure(line.share));
    cells.push_back(present::exact_count(line.total.samples));
    cells.push_back(row.text);
    grid.add(std::move(cells));
    grid.keep_whole();
  }
  return grid;
}

/// The shares give way where the names would have little room, as in a table.
std::pair<std::vector<TreeRow>, bool> fitting_rows(const TreeReport& report,
                                                   const present::Style& style) {
  std::vector<TreeRow> figures;
  for (std::size_t i = 0; i < report.lines.size(); ++i) figures.push_back({i, ""});
  const std::size_t with_share = grid_of(report, figures, true).room_for_cut(style.width);
  const std::size_t needed = columns_for_names(report, style) + 2 * kIndent;
  const bool has_share = with_share >= std::max(kRoomForTreeName, needed);
  const std::size_t room =
      has_share ? with_share : grid_of(report, figures, false).room_for_cut(style.width);
  return {tree_rows(report, room, style), has_share};
}

std::string footer(const TreeReport& report, const std::vector<TreeRow>& rows,
                   const present::Style& style) {
  std::string out;
  if (std::ranges::any_of(rows, &TreeRow::is_deep)) {
    out += "A number before a name is its level: the last lower one above it called it.\n";
  }
  if (std::ranges::any_of(rows, &TreeRow::is_cut)) {
    out += "› … › stands for functions with the same figures; --names full shows them.\n";
  }
  if (report.nodes > report.lines.size()) {
    out += fmt::format("{} below {:.3g} % {} left out (--min-percent).\n",
                       present::plural(report.nodes - report.lines.size(), "branch point"),
                       report.options.min_percent,
                       report.nodes - report.lines.size() == 1 ? "is" : "are");
  }
  out += present::unnamed_note(report.lines, &TreeLine::name, style.width, report.absent);
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
  const auto [rows, has_share] = fitting_rows(report, style);
  return out + grid_of(report, rows, has_share).text(style) + footer(report, rows, style);
}

}  // namespace geiger::report
