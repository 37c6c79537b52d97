#include "analysis/report/profiles/live.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "analysis/naming/display_name.h"
#include "analysis/present/function_names.h"
#include "analysis/present/text.h"
#include "analysis/profile/frames/frame_roles.h"
#include "analysis/profile/frames/types.h"
#include "analysis/profile/groups/groupings.h"
#include "analysis/profile/lives/owners.h"
#include "analysis/profile/select/totals.h"
#include "estimation/difference.h"
#include "estimation/estimate.h"

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
  if (has_unseen_objects_) return;  // Nothing is above its lower limit.
  find_owner(picture, flows_of_stacks(picture, live, keeps, start),
             recent ? flows_of_stacks(picture, live, keeps, *recent) : StackFlows(), start.looks);
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

GrowthReport::StackFlows GrowthReport::flows_of_stacks(const Recording& picture,
                                                       const Profile& live,
                                                       const profile::Keeps& keeps,
                                                       const LiveChange& change) {
  StackFlows flows;
  const auto add = [&](const std::vector<std::uint64_t>& counts, estimation::NodeSums Flow::*of) {
    const Profile changed = profile_of(picture, live, keeps, counts);
    for (const profile::StackSums& stack : profile::sums_by_stack(picture, changed)) {
      if (stack.stack != profile::kNone) (flows[stack.stack].*of).merge(stack.sums);
    }
  };
  add(change.came, &Flow::came);
  add(change.went, &Flow::went);
  return flows;
}

/// Without a warm-up it is not known what lasts. Accused are the stacks that gained most, as
/// with what is held; what is below a function, chosen by their outcome, is then tested as one.
void GrowthReport::find_owner(const Recording& picture, const StackFlows& start,
                              const StackFlows& recent, std::uint64_t looks) {
  profile::ShownPath shown(picture);
  std::vector<std::vector<std::uint32_t>> functions;
  std::vector<profile::HeldSite> sites;
  for (const auto& [stack, flow] : start) {
    const auto samples_of = [](const estimation::NodeSums& sums) {
      return static_cast<double>(sums.samples + sums.certain_samples);
    };
    functions.push_back(own_functions_of(shown, stack));
    sites.push_back({std::max(0.0, samples_of(flow.came) - samples_of(flow.went)),
                     std::max(0.0, flow.came.all_bytes() - flow.went.all_bytes())});
  }
  const auto k = static_cast<double>(looks);
  const double shares = static_cast<double>(shown.labels().size()) * k * (k + 1);
  for (const profile::OwnerGroup& group : held_by(functions, sites).owners) {
    profile::LinesOfGroups lines(picture);
    const auto flow_below = [&](const StackFlows& stacks, const Changes& changes) {
      Flow all;
      for (const auto& [stack, flow] : stacks) {
        shown.of(stack);
        const auto at = std::ranges::find(shown.path(), group.function) - shown.path().begin();
        if (at == std::ssize(shown.path())) continue;
        all.came.merge(flow.came);
        all.went.merge(flow.went);
        lines.add(0, shown.frames()[static_cast<std::size_t>(at)], flow.came.all_bytes());
      }
      all.came.could_have_sampled(changes.largest_interval);
      all.went.could_have_sampled(changes.largest_interval);
      return all;
    };
    const Flow all = flow_below(start, start_);
    const LiveGrowth growth = growth_of(start_, all, level_);
    const bool is_largest = !owner_ || growth.bytes > owner_->all.since_start.bytes;
    const double sure = 1 - (1 - level_) / shares;
    if (!is_largest || !growth_of(start_, all, sure).is_above_zero()) continue;
    GrowthRow row{{.name = shown.labels()[group.function].name, .detail = {}},
                  lines.heaviest(0),
                  growth,
                  std::nullopt,
                  true};
    if (has_recent()) row.recent = growth_of(recent_, flow_below(recent, recent_), level_);
    owner_ = {std::move(row), group.sites.size()};
  }
}

std::string sentence(const GrowthReport& growth, std::size_t columns) {
  if (!growth.is_known()) return "";
  if (growth.has_unseen_objects() && !growth.rows().empty()) {
    const GrowthRow& row = growth.rows().front();
    return fmt::format("growth not known: frees from before the recording are not seen; {} {}",
                       named(row, growth.by(), columns), rate_figure(row.since_start).text());
  }
  const GrowingOwner* const owner = growth.owner() ? &*growth.owner() : nullptr;
  const bool has_row = growth.growing() > 0;
  // A row that grew by more is not explained by it.
  const bool is_owned = owner != nullptr && (!has_row || growth.rows().front().since_start.bytes <
                                                             owner->all.since_start.bytes);
  if (!has_row && !is_owned) {
    return fmt::format("no growth shown over {}", present::duration(growth.length()));
  }
  const GrowthRow& row = is_owned ? owner->all : growth.rows().front();
  const profile::GroupBy by = is_owned ? profile::GroupBy::kFunction : growth.by();
  const std::string rest =
      predicate(row) + (is_owned ? ", in " + present::plural(owner->sites, "site") : "");
  const std::string others =
      !is_owned && growth.growing() > 1 ? fmt::format("; {} more grew", growth.growing() - 1) : "";
  const std::string whole = named(row, by, 0) + rest;
  if (columns == 0 || present::columns_of(whole + others) <= columns) return whole + others;
  const std::size_t taken = present::columns_of(rest);
  return named(row, by, columns > taken ? columns - taken : 1) + rest;
}

namespace {

using profile::Kind;
using profile::Recording;

profile::Selection selection_of(const LiveOptions& options, Kind kind) {
  profile::Selection selection;
  selection.kind = kind;
  selection.keeps = options.keeps;
  if (options.process) {
    selection.keeps = [process = *options.process,
                       keeps = options.keeps](const profile::Sample& sample) {
      return sample.process == process ? answer_of(keeps, sample) : profile::Answer::kNo;
    };
  }
  return selection;
}

bool is_shown(const LiveOptions& options, std::uint32_t process) {
  return !options.process || *options.process == process;
}

/// The exact sums of the processes shown.
void add_exact(LiveReport& report, const Recording& picture) {
  for (std::uint32_t i = 0; i < picture.processes.size(); ++i) {
    if (!is_shown(report.options, i)) continue;
    const profile::Process& process = picture.processes[i];
    report.thinning = std::max(report.thinning, process.thinning);
    report.dropped = std::reduce(process.drops.begin(), process.drops.end(), report.dropped);
    const profile::ProcessTotals totals = profile::process_totals(picture, i);
    report.exact_bytes += totals.exact_bytes;
    report.unsettled += totals.unsettled_bound;
  }
}

/// Of the latest sample; before there is one, what recording began with.
Bytes interval_of(const Recording& picture, const LiveOptions& options) {
  const profile::Tally* latest = nullptr;
  for (const profile::Tally& tally : picture.tallies) {
    if (!is_shown(options, tally.alike.process)) continue;
    if (latest == nullptr || tally.last > latest->last) latest = &tally;
  }
  if (latest != nullptr) return picture.epochs[latest->alike.epoch].interval;
  return picture.processes.empty() ? 0 : picture.processes.front().interval;
}

Nanoseconds elapsed_of(const Recording& picture, Nanoseconds now) {
  Nanoseconds end = now;
  for (const auto& process : picture.processes) end = std::max(end, process.end);
  const Nanoseconds start = profile::start_of(picture);
  return end - std::min(start, end);
}

/// The rows of `report.table` in the order of their growth, and no more than `top`.
void sort_by_growth(LiveReport& report, std::size_t top) {
  std::vector<std::pair<LiveGrowth, TableLine>> rows;
  for (std::size_t i = 0; i < report.growths.size(); ++i) {
    rows.emplace_back(report.growths[i], std::move(report.table.lines[i]));
    rows.back().second.is_order_uncertain = false;
  }
  std::ranges::stable_sort(rows, std::greater<>(), [](const auto& row) { return row.first.bytes; });
  if (top != 0) rows.resize(std::min(rows.size(), top));
  report.growths.clear();
  report.table.lines.clear();
  for (auto& [growth, line] : rows) {
    report.growths.push_back(growth);
    report.table.lines.push_back(std::move(line));
  }
}

void add_live_table(LiveReport& report, const Recording& picture, const profile::Profile& live) {
  const LiveOptions& options = report.options;
  const bool is_known = report.growth.is_known();
  const bool sorts = options.sorts_by_growth && is_known;
  TableOptions table = options.table;
  if (sorts) table.top = 0;
  report.table = table_report(picture, live, table);
  if (!is_known) return;
  const bool is_recent = options.growth_of == GrowthOf::kRecent && report.growth.has_recent();
  for (const TableLine& line : report.table.lines) {
    const RowKey key = key_of(line, options.table.by);
    report.growths.push_back(is_recent ? report.growth.recent(key)
                                       : report.growth.since_start(key));
  }
  if (sorts) sort_by_growth(report, options.table.top);
}

}  // namespace

LiveReport live_report(const Recording& picture, std::vector<LiveProcess> processes,
                       const LiveOptions& options, const std::optional<LiveChanges>& changes) {
  LiveReport report;
  report.options = options;
  report.processes = std::move(processes);
  report.elapsed = elapsed_of(picture, options.now);
  report.interval = interval_of(picture, options);
  for (const LiveProcess& process : report.processes) {
    if (is_shown(options, process.index)) report.resident += process.resident;
  }
  add_exact(report, picture);
  const profile::Profile allocated =
      profile::select(picture, selection_of(options, Kind::kAllocated));
  const profile::Profile live = profile::select(picture, selection_of(options, Kind::kLiveAtEnd));
  const double level = options.table.level;
  report.allocated = present::Whole(picture, allocated).measure_total(level);
  report.live = present::Whole(picture, live).measure_total(level);
  report.samples = report.allocated.samples;
  report.live_samples = report.live.samples;
  report.detection_limit = estimation::detection_limit(live.largest_interval, level);
  if (changes) {
    report.growth = GrowthReport(picture, live, selection_of(options, Kind::kLiveAtEnd).keeps,
                                 options.table.by, level, changes->start, changes->recent);
  }
  if (options.kind == Kind::kAllocated) {
    report.table = table_report(picture, allocated, options.table);
  } else {
    add_live_table(report, picture, live);
  }
  return report;
}

using present::Fields;
using present::InRecording;
using present::Of;
using profile::Recording;

namespace {

/// Bytes over the time in which they grew.
struct Rate {
  const LiveGrowth& growth;
  [[nodiscard]] double of(double bytes) const {
    return bytes / (static_cast<double>(growth.length) / 1e9);
  }
};
const Fields<Rate>& fields_of(Of<Rate> /*type*/) {
  static const auto kFields =
      Fields<Rate>()
          .field("value", "", [](const Rate& it) { return it.of(it.growth.bytes); })
          .field("lo", "", [](const Rate& it) { return it.of(it.growth.interval.lo); })
          .or_null()
          .field("hi", "", [](const Rate& it) { return it.of(it.growth.interval.hi); });
  return kFields;
}

}  // namespace

static const Fields<LiveGrowth>& fields_of(Of<LiveGrowth> /*type*/) {
  static const auto kFields =
      Fields<LiveGrowth>("live_growth", "Live bytes now less those then, of this look alone.")
          .field("bytes", "", &LiveGrowth::bytes)
          .field("lo", "null where frees of older objects are not seen",
                 [](const LiveGrowth& it) { return it.interval.lo; })
          .or_null()
          .field("hi", "", [](const LiveGrowth& it) { return it.interval.hi; })
          .field("per_second", "", [](const LiveGrowth& it) { return Rate{it}; });
  return kFields;
}

static const Fields<LiveProcess>& fields_of(Of<LiveProcess> /*type*/) {
  static const auto kFields =
      Fields<LiveProcess>("live_process")
          .field("pid", "", &LiveProcess::pid)
          .field("program", "", &LiveProcess::name)
          .field("state",
                 "`recording`, `exited`, `stopped`, `switched off`, or `gone`: by a signal, _exit "
                 "or exec",
                 &LiveProcess::state)
          .field("resident", "bytes; 0 unless it is recording", &LiveProcess::resident);
  return kFields;
}

static const Fields<GrowingOwner>& fields_of(Of<GrowingOwner> /*type*/) {
  static const auto kFields =
      Fields<GrowingOwner>("growing_owner")
          .inlined([](const GrowingOwner& it) { return present::Named{it.all.key.name}; })
          .inlined([](const GrowingOwner& it) { return it.all.where; })
          .field("sites", "stacks below it that grew", &GrowingOwner::sites)
          .field("since_start", "of all that is below it",
                 [](const GrowingOwner& it) { return it.all.since_start; })
          .field("recent", "", [](const GrowingOwner& it) { return it.all.recent; });
  return kFields;
}

namespace {

struct GrownRow {
  const GrowthRow& row;
  profile::GroupBy by;
  const Recording& picture;
};
const Fields<GrownRow>& fields_of(Of<GrownRow> /*type*/) {
  static const auto kFields =
      Fields<GrownRow>("growth_row")
          .inlined([](const GrownRow& it) {
            return present::Named{it.row.key.name, present::is_named_by_functions(it.by)};
          })
          .field("detail", "", [](const GrownRow& it) { return it.row.key.detail; })
          .inlined([](const GrownRow& it) { return it.row.where; })
          .field("is_growing", "allowing for all looks and rows",
                 [](const GrownRow& it) { return it.row.is_growing; })
          .field("since_start", "of watching",
                 [](const GrownRow& it) { return it.row.since_start; })
          .field("recent", "", [](const GrownRow& it) { return it.row.recent; })
          .inlined(
              [](const GrownRow& it) { return present::stack_of(it.picture, it.row.key.stack); });
  return kFields;
}

struct Grown {
  const LiveReport& report;
  const Recording& picture;
  [[nodiscard]] const GrowthReport& growth() const { return report.growth; }
};

std::vector<GrownRow> grown_rows(const Grown& of) {
  std::vector<GrownRow> rows;
  const std::size_t top = of.report.options.table.top;
  for (const GrowthRow& row : of.growth().rows()) {
    if (top != 0 && rows.size() == top) break;
    rows.push_back({row, of.growth().by(), of.picture});
  }
  return rows;
}

const Fields<Grown>& fields_of(Of<Grown> /*type*/) {
  static const auto kFields =
      Fields<Grown>("live_heap_growth", "Of the live heap, from the second look on.")
          .field("length_ns", "since watching began",
                 [](const Grown& it) { return it.growth().length(); })
          .field("recent_length_ns", "once there is a recent time",
                 [](const Grown& it) {
                   return present::if_true(it.growth().has_recent(), it.growth().recent_length());
                 })
          .field("sentence", "", [](const Grown& it) { return sentence(it.growth()); })
          .field("growing", "rows that are reported as growing",
                 [](const Grown& it) { return it.growth().growing(); })
          .field("total", "", [](const Grown& it) { return it.growth().total(); })
          .field("owner", "a function that explains several stacks that grew",
                 [](const Grown& it) { return it.growth().owner(); })
          .field("rows", "that seem to have grown, the reported ones first", &grown_rows);
  return kFields;
}

}  // namespace

const Fields<InRecording<LiveReport>>& fields_of(Of<InRecording<LiveReport>> /*type*/) {
  using Document = InRecording<LiveReport>;
  static const auto kFields =
      Fields<Document>("live")
          .field("elapsed", "ns since the recording began", &LiveReport::elapsed)
          .field("interval", "bytes, in force for the latest sample", &LiveReport::interval)
          .field("processes", "all of the run", &LiveReport::processes)
          .field("only_pid", "the rest is of this process alone",
                 [](const Document& it) {
                   const std::optional<std::uint32_t> only = it.it.options.process;
                   return only ? std::optional(it.recording.processes[*only].pid) : std::nullopt;
                 })
          .field("samples", "", &LiveReport::samples)
          .field("live_samples", "", &LiveReport::live_samples)
          .field("dropped", "", &LiveReport::dropped)
          .field("thinning", "the largest level", &LiveReport::thinning)
          .field("exact_bytes", "allocated, as counted", &LiveReport::exact_bytes)
          .field("unsettled_bound", "at most so many more, not reported by threads yet",
                 &LiveReport::unsettled)
          .field("detection_limit", "bytes of `live` that may have no samples",
                 &LiveReport::detection_limit)
          .field("resident", "RSS of the processes that are recording", &LiveReport::resident)
          .field("allocated", "", &LiveReport::allocated)
          .field("live", "", &LiveReport::live)
          .field("growth", "not of aggregated programs",
                 [](const Document& it) {
                   return present::if_true(it.it.growth.is_known(), Grown{it.it, it.recording});
                 })
          .field("table", "", [](const Document& it) {
            return InRecording<TableReport>{it.it.table, it.recording};
          });
  return kFields;
}

std::string to_json(const LiveReport& report, const Recording& picture) {
  return present::document("live", report, picture);
}

}  // namespace geiger::report
