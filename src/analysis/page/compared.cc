#include "analysis/page/compared.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "analysis/naming/display_name.h"
#include "analysis/page/call_tree.h"
#include "analysis/present/format.h"
#include "analysis/present/function_names.h"
#include "analysis/report/compare/diff.h"
#include "analysis/report/profiles/table.h"

namespace geiger::page {
namespace {

using compare::Comparison;
using compare::Place;

std::uint32_t frame_of(const Place& place, CallTree& tree, Names& names) {
  if (place.name == "[truncated]" || place.name == "[no stack]") return tree.remark(place.name);
  Frame frame{.name = names.intern(place.name)};
  if (!place.module.empty()) frame.module = names.intern(place.module);
  const Frame key = frame;
  if (place.is_plumbing) frame.flags |= kPlumbing;
  if (place.is_unnamed) frame.flags |= kUnknown;
  return tree.frame(key, frame);
}

DiffRow row_of(const compare::Row& row, const compare::Site* site) {
  DiffRow out;
  if (site != nullptr) {
    out.name = shortened(site->name, kMostTextBytes);
    out.detail = shortened(site->detail, kMostTextBytes);
    out.place = shortened(text_of(site->where), kMostTextBytes);
  }
  out.before = row.before;
  out.after = row.after;
  out.delta = row.change.value;
  out.interval = row.change.interval;
  out.q = row.change.q_value;
  out.verdict = compare::name_of(row.verdict);
  return out;
}

DiffRow counted_of(const DiffRow& total, const compare::ExactTotals& exact) {
  DiffRow out = total;
  const auto take = [](estimation::Estimate& side, double bytes, double unsettled) {
    side = {bytes, 0, {bytes, bytes + unsettled}, side.samples, bytes, unsettled};
  };
  take(out.before, exact.before, exact.unsettled_before);
  take(out.after, exact.after, exact.unsettled_after);
  out.delta = exact.change();
  out.interval = exact.interval;
  out.q = exact.p_value;
  out.verdict = compare::name_of(exact.verdict);
  return out;
}

void shorten_names(std::vector<DiffRow>& rows) {
  std::vector<naming::Named> named;
  for (const DiffRow& row : rows) named.push_back({.demangled = row.name, .module = row.detail});
  std::vector<std::string> shown = naming::distinct_names(named);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (shown[i] != rows[i].name) rows[i].short_name = std::move(shown[i]);
  }
}

DiffTable table_of(const Comparison& comparison, std::vector<std::string>& left_out) {
  DiffTable table;
  table.by = name_of(comparison.collected.grouping.by);
  if (comparison.collected.grouping.is_inclusive) table.by += ", inclusive";
  for (const compare::Row& row : comparison.rows) {  // Changes first, then by size.
    if (table.rows.size() == kMostRows) break;
    table.rows.push_back(row_of(row, &comparison.collected.sites[row.site]));
  }
  if (present::is_named_by_functions(comparison.collected.grouping.by)) shorten_names(table.rows);
  const std::size_t more = comparison.rows.size() - table.rows.size();
  if (more > 0) {
    left_out.push_back(fmt::format("{} of the comparison by {} with smaller changes",
                                   present::plural(more, "row"), table.by));
  }
  return table;
}

/// More digits than are shown of a limit would be most of the page. Of what is known all are kept.
estimation::Interval rounded(const estimation::Estimate& estimate) {
  constexpr double kDigits = 1e4;
  const auto [lo, hi] = estimate.interval;
  if (lo == hi || !(hi > 0)) return estimate.interval;
  const double unit = std::max(1.0, std::pow(10.0, std::ceil(std::log10(hi))) / kDigits);
  return {std::max(0.0, std::floor(lo / unit) * unit), std::ceil(hi / unit) * unit};
}

}  // namespace

ComparedTree::ComparedTree(const Comparison& comparison, CallTree& tree, Names& names)
    : comparison_(comparison) {
  const compare::Collected& collected = comparison.collected;
  std::vector<std::uint32_t> frames;
  for (const Place& place : collected.places) frames.push_back(frame_of(place, tree, names));
  for (const compare::Row& row : comparison.rows) {
    const std::vector<std::uint32_t>& places = collected.sites[row.site].places;
    std::uint32_t node = CallTree::kRoot;
    for (auto place = places.rbegin(); place != places.rend(); ++place) {
      node = tree.child(node, frames[*place]);
    }
    sites_.push_back({node, names.intern(compare::name_of(row.verdict))});
  }
}

void ComparedTree::weigh(std::vector<double>& weights) const {
  const double before = comparison_.total.before.value;
  const double after = comparison_.total.after.value;
  weights[CallTree::kRoot] = std::max(weights[CallTree::kRoot], 1.0);
  for (std::size_t i = 0; i < sites_.size(); ++i) {
    const compare::Row& row = comparison_.rows[i];
    double& weight = weights[sites_[i].node];
    if (before > 0) weight = std::max(weight, row.before.value / before);
    if (after > 0) weight = std::max(weight, row.after.value / after);
  }
}

std::vector<DiffNode> ComparedTree::nodes(const Pruned& pruned, UsedNames& names) const {
  std::vector<DiffNode> nodes;
  for (std::size_t i = 0; i < sites_.size(); ++i) {
    if (pruned.is_rest(sites_[i].node)) continue;
    const compare::Row& row = comparison_.rows[i];
    nodes.push_back({.node = pruned.moved[sites_[i].node],
                     .before = row.before.value,
                     .after = row.after.value,
                     .delta = row.change.value,
                     .before_limits = rounded(row.before),
                     .after_limits = rounded(row.after),
                     .interval = row.change.interval,
                     .q = row.change.q_value,
                     .verdict = names.of(sites_[i].verdict)});
  }
  std::ranges::sort(nodes, {}, &DiffNode::node);
  return nodes;
}

Diff diff_of(const ComparedRuns& runs, std::vector<std::string>& left_out) {
  Diff diff;
  for (const std::string& run : runs.before) diff.before.push_back(shortened(run, kMostTextBytes));
  for (const std::string& run : runs.after) diff.after.push_back(shortened(run, kMostTextBytes));
  diff.kind = profile::name_of(runs.tree.collected.kind);
  diff.total = row_of(runs.tree.total, nullptr);
  diff.total.name = "total";
  if (runs.tree.exact) diff.counted = counted_of(diff.total, *runs.tree.exact);
  for (const Comparison& comparison : runs.tables) {
    diff.tables.push_back(table_of(comparison, left_out));
  }
  return diff;
}

}  // namespace geiger::page
