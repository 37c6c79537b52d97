#include "analysis/report/profiles/tree.h"

#include <algorithm>
#include <functional>

#include "analysis/present/function_names.h"
#include "analysis/present/measure.h"
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

}  // namespace geiger::report
