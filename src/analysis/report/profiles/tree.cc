#include "analysis/report/profiles/tree.h"

#include <algorithm>
#include <functional>

#include "analysis/present/function_names.h"
#include "analysis/present/json.h"
#include "analysis/present/share.h"
#include "analysis/present/stack_json.h"
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

void write_line(present::JsonWriter& json, const TreeLine& line, std::size_t index) {
  json.begin_object().field("id", index);
  if (index > 0) json.field("parent", line.parent);
  present::write_name(json, line.name, index > 0);
  write_field(json, line.where);
  write_fields(json, line.self, line.total);
  write_field(json, line.share);
  json.end_object();
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
  return report;
}

std::string to_json(const TreeReport& report) {
  present::JsonWriter json("tree");
  json.field("kind", profile::name_of(report.kind)).field("level", report.options.level);
  json.field("is_inverted", report.options.is_inverted).field("is_split", report.is_split);
  json.field("min_percent", report.options.min_percent).field("node_count", report.nodes);
  write_field(json, report.options.scope);
  const present::Measure& total = report.lines.front().total;
  if (total.calibrated) json.field("exact_bytes", total.calibrated->value);
  json.key("nodes").begin_array();
  for (std::size_t i = 0; i < report.lines.size(); ++i) write_line(json, report.lines[i], i);
  json.end_array();
  return json.finish();
}

}  // namespace geiger::report
