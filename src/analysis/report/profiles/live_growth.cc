#include "analysis/report/profiles/live_growth.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "analysis/naming/display_name.h"
#include "analysis/present/function_names.h"
#include "analysis/present/text.h"
#include "analysis/profile/frames/types.h"
#include "analysis/profile/groups/groupings.h"
#include "estimation/difference.h"

namespace geiger::report {
namespace {

using profile::Profile;
using profile::Recording;

/// Rows to test for growth: those that seem to have grown most.
constexpr std::size_t kMostAsked = 200;

/// The counts of some tallies as a profile like `live`.
Profile profile_of(const Recording& picture, const Profile& live, const profile::Keeps& keeps,
                   const std::vector<std::uint64_t>& counts) {
  std::vector<profile::Entry> entries, open;
  for (std::size_t i = 0; i < std::min(counts.size(), picture.tallies.size()); ++i) {
    const profile::Sample& sample = picture.tallies[i].alike;
    const profile::Answer answer = answer_of(keeps, sample);
    if (counts[i] == 0 || sample.heap != live.heap || answer == profile::Answer::kNo) continue;
    (answer == profile::Answer::kYes ? entries : open)
        .push_back(entry_of(picture, sample, counts[i]));
  }
  Profile profile = with_entries(live, std::move(entries));
  profile.open = std::move(open);
  return profile;
}

std::string named(const GrowthRow& row, profile::GroupBy by, std::size_t columns) {
  std::string where = present::printable(text_of(row.where));
  if (!where.empty()) where = " (" + where + ")";
  std::string name = row.key.name;
  if (present::is_named_by_functions(by)) name = naming::display_name(name);
  const std::size_t taken = present::columns_of(where);
  if (columns != 0) name = naming::fit_name(name, columns > taken ? columns - taken : 1);
  return present::printable(name) + where;
}

/// What it is said to do, after its name.
std::string predicate(const GrowthRow& row) {
  if (!row.recent || row.recent->is_above_zero()) {
    return fmt::format(" grows {} over {}", present::without_plus(rate_figure(row.since_start)),
                       present::duration(row.since_start.length));
  }
  const present::Figure grown =
      present::change_figure(row.since_start.bytes, row.since_start.interval);
  return fmt::format(" grew {} in {}; the last {} do not show it", present::without_plus(grown),
                     present::duration(row.since_start.length),
                     present::duration(row.recent->length));
}

}  // namespace

present::Figure rate_figure(const LiveGrowth& growth) {
  const double seconds = static_cast<double>(growth.length) / 1e9;
  if (std::isinf(growth.interval.lo)) {
    const double most = std::max(0.0, growth.interval.hi / seconds);
    return {.value = "< " + present::bound_bytes(most) + "/s", .error = ""};
  }
  present::Figure figure = present::change_figure(
      growth.bytes / seconds, {growth.interval.lo / seconds, growth.interval.hi / seconds});
  figure.value += "/s";
  return figure;
}

GrowthReport::Flow GrowthReport::Changes::of(const RowKey& key) const {
  const auto found = flows.find(key);
  Flow flow = found == flows.end() ? Flow{} : found->second;
  if (key.name != profile::kUnknownType) {
    flow.came.leave_open(unknown_type.came);
    flow.went.leave_open(unknown_type.went);
  }
  flow.came.could_have_sampled(largest_interval);
  flow.went.could_have_sampled(largest_interval);
  return flow;
}

GrowthReport::Changes GrowthReport::changes_of(const Recording& picture, const Profile& live,
                                               const profile::Keeps& keeps, profile::GroupBy by,
                                               const LiveChange& change) {
  Changes changes{change.length, live.largest_interval, {}, {}, {}};
  const Profile came = profile_of(picture, live, keeps, change.came);
  const std::vector<profile::Row> rows = profile::table(picture, came, by);
  for (const profile::Row& row : rows) {
    Flow& flow = changes.flows[key_of(row, by)];
    flow.came.merge(row.self);
    flow.where = row.where;
  }
  const Profile went = profile_of(picture, live, keeps, change.went);
  changes.all = {profile::total(picture, came), profile::total(picture, went)};
  const std::vector<profile::Row> rows_of_went = profile::table(picture, went, by);
  for (const profile::Row& row : rows_of_went) {
    changes.flows[key_of(row, by)].went.merge(row.self);
  }
  if (by == profile::GroupBy::kType) {
    changes.unknown_type = {profile::of_unknown_type(rows), profile::of_unknown_type(rows_of_went)};
  }
  return changes;
}

LiveGrowth GrowthReport::growth_of(const Changes& changes, const Flow& flow, double level) const {
  estimation::Difference difference =
      estimation::difference({.sums = flow.went}, {.sums = flow.came}, level);
  if (has_unseen_objects_) difference.interval.lo = -std::numeric_limits<double>::infinity();
  return {changes.length, difference.value, difference.interval};
}

GrowthReport::GrowthReport(const Recording& picture, const Profile& live,
                           const profile::Keeps& keeps, profile::GroupBy by, double level,
                           const LiveChange& start, const std::optional<LiveChange>& recent)
    : by_(by),
      level_(level),
      has_unseen_objects_(
          std::ranges::any_of(picture.processes, &profile::Process::has_unseen_objects)),
      start_(changes_of(picture, live, keeps, by, start)) {
  if (recent) recent_ = changes_of(picture, live, keeps, by, *recent);
  total_ = growth_of(start_, start_.all, level_);
  find_rows(start.looks);
}

LiveGrowth GrowthReport::since_start(const RowKey& key) const {
  return growth_of(start_, start_.of(key), level_);
}

LiveGrowth GrowthReport::recent(const RowKey& key) const {
  return growth_of(recent_, recent_.of(key), level_);
}

/// The chance of a false "grows" is divided: update k gets 1 / (k (k + 1)) of it, which adds up
/// to 1 over all possible updates; the rows of an update get equal parts.
void GrowthReport::find_rows(std::uint64_t looks) {
  std::vector<std::pair<double, const RowKey*>> grown;
  for (const auto& [key, flow] : start_.flows) {
    const double bytes = flow.came.all_bytes() - flow.went.all_bytes();
    if (bytes > 0) grown.emplace_back(bytes, &key);
  }
  std::ranges::stable_sort(grown, std::greater<>(), &std::pair<double, const RowKey*>::first);
  grown.resize(std::min(grown.size(), kMostAsked));
  const auto k = static_cast<double>(looks);
  const double shares = static_cast<double>(start_.flows.size()) * k * (k + 1);
  const double sure = 1 - (1 - level_) / shares;
  for (const auto& [bytes, key] : grown) {
    const Flow flow = start_.of(*key);
    GrowthRow row{*key, flow.where, growth_of(start_, flow, level_), std::nullopt, false};
    if (has_recent()) row.recent = recent(*key);
    row.is_growing =
        row.since_start.is_above_zero() && growth_of(start_, flow, sure).is_above_zero();
    growing_ += row.is_growing;
    rows_.push_back(std::move(row));
  }
  const auto place = [](const GrowthRow& row) {
    const bool is_lately = !row.recent || row.recent->is_above_zero();
    return row.is_growing ? (is_lately ? 0 : 1) : 2;
  };
  std::ranges::stable_sort(rows_, std::less<>(), place);
}

std::string sentence(const GrowthReport& growth, std::size_t columns) {
  if (!growth.is_known()) return "";
  if (growth.has_unseen_objects() && !growth.rows().empty()) {
    const GrowthRow& row = growth.rows().front();
    return fmt::format("growth not known: frees from before the recording are not seen; {} {}",
                       named(row, growth.by(), columns), rate_figure(row.since_start).text());
  }
  if (growth.growing() == 0) {
    return fmt::format("no growth shown over {}", present::duration(growth.length()));
  }
  const GrowthRow& row = growth.rows().front();
  const std::string rest = predicate(row);
  const std::string others =
      growth.growing() > 1 ? fmt::format("; {} more grew", growth.growing() - 1) : "";
  const std::string whole = named(row, growth.by(), 0) + rest;
  if (columns == 0 || present::columns_of(whole + others) <= columns) return whole + others;
  const std::size_t taken = present::columns_of(rest);
  return named(row, growth.by(), columns > taken ? columns - taken : 1) + rest;
}

}  // namespace geiger::report
