#include "analysis/report/profiles/stats.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <functional>
#include <span>

#include "analysis/present/format.h"
#include "analysis/present/grid.h"
#include "analysis/present/heading.h"
#include "analysis/present/measure.h"
#include "analysis/present/recording_words.h"
#include "analysis/present/text.h"
#include "analysis/profile/frames/labels.h"
#include "analysis/profile/groups/groupings.h"
#include "analysis/profile/select/peak.h"
#include "analysis/profile/select/thinned.h"

namespace geiger::report {

namespace {

using estimation::NodeSums;
using profile::Recording;
using profile::Sample;

/// The samples that the statistics are of.
struct Basis {
  const Recording& recording;
  profile::Chosen chosen;
  profile::Profile profile;  ///< Without entries: what weighs them.
  profile::Kind kind;        ///< What tallies count.

  Basis(const Recording& from, const profile::Selection& selection)
      : recording(from), chosen(profile::choose(from, selection)), kind(selection.kind) {
    profile.is_of_fates = profile::depends_on_fates(selection);
    profile.rate_factor = chosen.rate_factor;
    profile.largest_interval = chosen.largest_interval;
  }

  /// Calls `visit(sample, count)` for every sample, those alike together where they were
  /// only counted.
  template <typename Visit>
  void for_each(const Visit& visit) const {
    visit_all(chosen.samples, chosen.tallies, visit);
  }
  /// As above, for the samples that the selection cannot decide about.
  template <typename Visit>
  void for_each_open(const Visit& visit) const {
    visit_all(chosen.open, chosen.open_tallies, visit);
  }

 private:
  template <typename Visit>
  void visit_all(const std::vector<const Sample*>& samples,
                 const std::vector<const profile::Tally*>& tallies, const Visit& visit) const {
    for (const Sample* sample : samples) visit(*sample, std::uint64_t{1});
    for (const profile::Tally* tally : tallies) {
      visit(tally->alike, profile::count_of(*tally, kind));
    }
  }
};

/// Adds every sample to the group that `group_of` names; what no group stands for is
/// left out.
void add_samples(const Basis& basis, std::vector<NodeSums>& sums,
                 const std::function<std::size_t(const Sample&)>& group_of) {
  profile::Profile weighing;
  weighing.rate_factor = basis.profile.rate_factor;
  weighing.is_of_fates = basis.profile.is_of_fates;
  const auto add_to = [&](std::vector<NodeSums>& into, const Sample& sample, std::uint64_t count) {
    const std::size_t group = group_of(sample);
    if (group >= into.size()) return;
    const profile::Entry entry{.process = sample.process,
                               .epoch = sample.epoch,
                               .requested = sample.requested,
                               .count = count,
                               .is_certain = profile::is_surely_sampled(basis.recording, sample)};
    accumulate(into[group], entry, basis.recording, weighing);
  };
  basis.for_each([&](const Sample& sample, std::uint64_t count) { add_to(sums, sample, count); });
  std::vector<NodeSums> open(sums.size());
  basis.for_each_open(
      [&](const Sample& sample, std::uint64_t count) { add_to(open, sample, count); });
  for (std::size_t i = 0; i < sums.size(); ++i) sums[i].leave_open(open[i]);
}

/// One set of sums per group, any of which may hold what was not sampled.
std::vector<NodeSums> sums_by(const Basis& basis, std::size_t groups,
                              const std::function<std::size_t(const Sample&)>& group_of) {
  std::vector<NodeSums> sums(groups);
  for (NodeSums& one : sums) one.could_have_sampled(basis.profile.largest_interval);
  add_samples(basis, sums, group_of);
  return sums;
}

using profile::least_of;

std::vector<SizeClass> sizes_of(const Basis& basis, double level) {
  std::vector<NodeSums> sums(profile::kSizeClasses);
  const double complete = profile::complete_from(basis.recording, basis.profile);
  for (std::size_t i = 0; i < sums.size(); ++i) {
    if (static_cast<double>(least_of(i)) >= complete) continue;
    sums[i].could_have_sampled(basis.profile.largest_interval);
  }
  add_samples(basis, sums,
              [](const Sample& sample) { return profile::size_class_of(sample.requested); });
  sums[profile::size_class_of(0)].miss_no_bytes();
  const auto first = std::find_if(sums.begin(), sums.end(), present::is_seen);
  const auto last = std::find_if(sums.rbegin(), sums.rend(), present::is_seen).base();
  std::vector<SizeClass> classes;
  for (auto at = first; at < last; ++at) {
    const Bytes least = least_of(static_cast<std::size_t>(at - sums.begin()));
    classes.push_back({least, least == 0 ? 0 : least * 2 - 1, present::measure_row(*at, level)});
  }
  return classes;
}

std::vector<Group> entry_points_of(const Basis& basis, double level) {
  constexpr std::size_t kAll = 256;
  const auto sums = sums_by(basis, kAll, [](const Sample& sample) {
    return static_cast<std::size_t>(sample.entry_point);
  });
  std::vector<Group> groups;
  for (std::size_t i = 0; i < kAll; ++i) {
    if (!present::is_seen(sums[i])) continue;
    groups.push_back({present::entry_point_name(static_cast<vocabulary::EntryPoint>(i)),
                      present::measure_row(sums[i], level)});
  }
  std::stable_sort(groups.begin(), groups.end(), [](const Group& a, const Group& b) {
    return a.measure.bytes.value > b.measure.bytes.value;
  });
  return groups;
}

struct Lifetime {
  Nanoseconds below;
  const char* name;
};

constexpr std::array<Lifetime, 6> kLifetimes{{{1'000'000, "freed within 1 ms"},
                                              {10'000'000, "after 1 to 10 ms"},
                                              {100'000'000, "after 10 to 100 ms"},
                                              {1'000'000'000, "after 0.1 to 1 s"},
                                              {10'000'000'000, "after 1 to 10 s"},
                                              {~Nanoseconds{0}, "after more than 10 s"}}};

std::size_t lifetime_of(const Sample& sample) {
  if (sample.free_time == 0) return kLifetimes.size();
  const Nanoseconds lived = sample.free_time - std::min(sample.free_time, sample.time);
  std::size_t i = 0;
  while (i + 1 < kLifetimes.size() && lived >= kLifetimes[i].below) ++i;
  return i;
}

/// None of samples that were only counted.
std::vector<Group> lifetimes_of(const Recording& recording, profile::Selection selection,
                                double level) {
  selection.splits_by_lifetime = true;
  const Basis basis(recording, selection);
  if (!recording.tallies.empty()) return {};
  const auto sums = sums_by(basis, kLifetimes.size() + 1, lifetime_of);
  std::vector<Group> groups;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const char* name = i < kLifetimes.size() ? kLifetimes[i].name : "still live at the end";
    groups.push_back({name, present::measure_row(sums[i], level)});
  }
  return groups;
}

std::vector<DepthClass> depths_of(const Basis& basis) {
  const auto& stacks = basis.recording.stacks;
  std::vector<DepthClass> classes;
  basis.for_each([&](const Sample& sample, std::uint64_t count) {
    if (sample.stack >= stacks.size()) return;
    const std::uint64_t depth = stacks[sample.stack].locations.size();
    const auto width = static_cast<std::size_t>(std::bit_width(depth));
    while (classes.size() <= width) {
      const std::uint64_t least = least_of(classes.size());
      classes.push_back({least, least == 0 ? 0 : least * 2 - 1, 0});
    }
    classes[width].samples += count;
  });
  const auto first = std::find_if(classes.begin(), classes.end(),
                                  [](const DepthClass& one) { return one.samples > 0; });
  classes.erase(classes.begin(), first);
  return classes;
}

/// By what is counted of them; of a part, where nothing is, by what is estimated.
std::vector<ThreadLine> threads_of(const Basis& basis, const StatsReport& report,
                                   std::uint64_t& count) {
  const auto& threads = basis.recording.threads;
  const auto sums = sums_by(basis, threads.size(), [](const Sample& sample) {
    return static_cast<std::size_t>(sample.thread);
  });
  const bool is_of_part = is_part(report);
  std::vector<std::uint32_t> order;
  for (std::uint32_t i = 0; i < threads.size(); ++i) {
    if (!is_of_part || present::is_seen(sums[i])) order.push_back(i);
  }
  count = order.size();
  std::ranges::stable_sort(order, std::greater<>(), [&](std::uint32_t i) {
    return is_of_part ? sums[i].all_bytes() : static_cast<double>(threads[i].bytes);
  });
  const std::size_t most = report.options.threads;
  if (most > 0 && order.size() > most) order.resize(most);
  std::vector<ThreadLine> lines;
  lines.reserve(order.size());
  for (const std::uint32_t index : order) {
    lines.push_back(
        {index, threads[index].bytes, present::measure_row(sums[index], report.options.level)});
  }
  return lines;
}

std::uint64_t truncated_of(const Basis& basis) {
  const auto& stacks = basis.recording.stacks;
  std::uint64_t truncated = 0;
  basis.for_each([&](const Sample& sample, std::uint64_t count) {
    if (sample.stack < stacks.size() && stacks[sample.stack].is_truncated) truncated += count;
  });
  return truncated;
}

}  // namespace

bool is_part(const StatsReport& report) {
  const profile::Selection& selection = report.options.selection;
  return selection.kind != profile::Kind::kAllocated || selection.is_part();
}

StatsReport stats_report(const Recording& recording, const StatsOptions& options) {
  const Basis basis(recording, options.selection);
  StatsReport report;
  report.options = options;
  report.is_split = basis.chosen.rate_factor < 1;
  report.total = present::measure_total(
      sums_by(basis, 1, [](const Sample&) { return std::size_t{0}; }).front(), options.level);
  if (basis.chosen.peak) {
    report.total.bytes =
        estimate_peak(recording, *basis.chosen.peak, report.total.bytes, options.level);
  }
  report.sizes = sizes_of(basis, options.level);
  report.entry_points = entry_points_of(basis, options.level);
  report.lifetimes = lifetimes_of(recording, options.selection, options.level);
  report.depths = depths_of(basis);
  report.truncated_samples = truncated_of(basis);
  report.threads = threads_of(basis, report, report.thread_count);
  if (is_part(report)) return report;
  for (std::uint32_t i = 0; i < recording.processes.size(); ++i) {
    report.processes.push_back(profile::process_totals(recording, i));
  }
  return report;
}

std::string thread_name(const profile::Thread& thread) {
  if (thread.name.empty()) return fmt::format("tid {}", thread.tid);
  return fmt::format("{} (tid {})", thread.name, thread.tid);
}

namespace {

using profile::Recording;

constexpr std::size_t kBarWidth = 16;
constexpr std::size_t kLeastBar = 4;

std::string repeated(std::string_view mark, std::size_t count) {
  std::string out;
  for (std::size_t i = 0; i < count; ++i) out += mark;
  return out;
}

/// Solid up to the lower limit, light up to the upper one: the error is visible.
std::string bar(const estimation::Estimate& estimate, double largest, std::size_t width) {
  if (!(largest > 0)) return "";
  const auto cells = [&](double value) {
    const double share = std::clamp(value / largest, 0.0, 1.0);
    return static_cast<std::size_t>(std::lround(share * static_cast<double>(width)));
  };
  const std::size_t solid = cells(estimate.interval.lo);
  return repeated("█", solid) + repeated("░", cells(estimate.interval.hi) - solid);
}

std::string section(const present::Style& style, std::string_view title,
                    const present::Grid& grid) {
  return fmt::format("\n{}\n{}", present::paint(style, present::Role::kHeading, title),
                     grid.text(style));
}

/// A row of a grid of measures.
struct MeasureRow {
  std::string name;
  const present::Measure* measure;
};

present::Grid measure_grid(const char* heading, std::span<const MeasureRow> rows, double largest,
                           bool has_samples, std::size_t bar_width) {
  std::vector<present::Column> columns{{heading, present::Align::kLeft, false}};
  present::append_figure_columns(columns, "bytes");
  present::append_figure_columns(columns, "objects");
  if (has_samples) columns.push_back({"samples", present::Align::kRight, false});
  columns.push_back({"", present::Align::kLeft, false});
  present::Grid grid(std::move(columns), 2);
  for (const auto& [name, measure] : rows) {
    std::vector<std::string> cells{name};
    present::append_figure(cells, present::figure(measure->bytes, present::Quantity::kBytes));
    present::append_figure(cells, present::objects_figure(*measure));
    if (has_samples) cells.push_back(present::exact_count(measure->samples));
    cells.push_back(measure->samples == 0 ? "" : bar(measure->bytes, largest, bar_width));
    grid.add(std::move(cells));
  }
  return grid;
}

/// With bars as wide as there is room for; on a narrow terminal they go, then the samples.
std::string measures(std::string_view title, const char* heading, std::span<const MeasureRow> rows,
                     double largest, const present::Style& style) {
  bool has_samples = true;
  std::size_t room = measure_grid(heading, rows, largest, true, 0).room_for_last(style.width);
  if (room == 0) {
    has_samples = false;
    room = measure_grid(heading, rows, largest, false, 0).room_for_last(style.width);
  }
  const std::size_t width = room < kLeastBar ? 0 : std::min(room, kBarWidth);
  return section(style, title, measure_grid(heading, rows, largest, has_samples, width));
}

template <typename Items>
double largest_limit(const Items& items) {
  double largest = 0;
  for (const auto& item : items) {
    if (item.measure.samples > 0) largest = std::max(largest, item.measure.bytes.interval.hi);
  }
  return largest;
}

std::string size_text(const SizeClass& size) {
  if (size.most <= 1) return present::exact_bytes(size.most);
  return size.least < kKiB ? fmt::format("{} to {}", size.least, present::exact_bytes(size.most))
                           : fmt::format("from {}", present::exact_bytes(size.least));
}

std::string sizes(const StatsReport& report, const present::Style& style) {
  const double largest = largest_limit(report.sizes);
  std::vector<MeasureRow> rows;
  for (const SizeClass& size : report.sizes) rows.push_back({size_text(size), &size.measure});
  return measures("Sizes requested", "size", rows, largest, style);
}

std::string groups(const std::vector<Group>& items, std::string_view title,
                   const present::Style& style) {
  const double largest = largest_limit(items);
  std::vector<MeasureRow> rows;
  for (const Group& item : items) rows.push_back({item.name, &item.measure});
  return measures(title, "", rows, largest, style);
}

std::string depths(const StatsReport& report, const present::Style& style) {
  std::uint64_t samples = 0;
  for (const DepthClass& depth : report.depths) samples += depth.samples;
  present::Grid grid({{"frames", present::Align::kRight, false},
                      {"samples", present::Align::kRight, false},
                      {"share", present::Align::kRight, false}},
                     2);
  for (const DepthClass& depth : report.depths) {
    grid.add({depth.least == depth.most ? std::to_string(depth.most)
                                        : fmt::format("{} to {}", depth.least, depth.most),
              present::exact_count(depth.samples), present::exact_share(depth.samples, samples)});
  }
  std::string out = section(style, "Depth of stacks", grid);
  if (report.truncated_samples > 0) {
    out += fmt::format("  {} ({}) {} a truncated stack\n",
                       present::plural(report.truncated_samples, "sample"),
                       present::exact_share(report.truncated_samples, samples),
                       report.truncated_samples == 1 ? "has" : "have");
  }
  return out;
}

std::string threads(const StatsReport& report, const Recording& recording,
                    const present::Style& style) {
  const bool has_counts = !is_part(report);
  std::vector<present::Column> columns;
  if (has_counts) columns.push_back({"counted", present::Align::kRight, false});
  present::append_figure_columns(columns, "estimated");
  columns.push_back({"samples", present::Align::kRight, false});
  columns.push_back({"thread", present::Align::kLeft, false});
  present::Grid grid(std::move(columns), 2);
  for (const ThreadLine& line : report.threads) {
    std::vector<std::string> cells;
    if (has_counts) cells.push_back(present::exact_bytes(line.exact_bytes));
    present::append_figure(cells, present::figure(line.measure.bytes, present::Quantity::kBytes));
    cells.push_back(present::exact_count(line.measure.samples));
    cells.push_back(present::printable(thread_name(recording.threads[line.thread])));
    grid.add(std::move(cells));
  }
  std::string out = section(style, "Threads", grid);
  if (report.thread_count <= report.threads.size()) return out;
  return out + fmt::format("  and {} more\n", report.thread_count - report.threads.size());
}

std::string processes(const StatsReport& report, const Recording& recording,
                      const present::Style& style) {
  present::Grid grid({{"pid", present::Align::kRight, false},
                      {"counted", present::Align::kRight, false},
                      {"uncounted, at most", present::Align::kRight, false},
                      {"certain", present::Align::kRight, false},
                      {"z", present::Align::kRight, false},
                      {"program", present::Align::kLeft, false}},
                     2);
  const std::size_t shown = std::min(report.processes.size(), present::kProcessesShown);
  for (std::size_t i = 0; i < shown; ++i) {
    const profile::ProcessTotals& totals = report.processes[i];
    grid.add({std::to_string(recording.processes[i].pid), present::exact_bytes(totals.exact_bytes),
              present::exact_bytes(totals.unsettled_bound),
              present::exact_bytes(totals.certain_bytes), present::z_score(totals.z),
              present::printable(profile::program_name(recording.processes[i]))});
  }
  std::string out = section(style, "Bytes counted exactly, by process", grid);
  if (report.processes.size() <= shown) return out;
  return out + fmt::format("  and {} more\n", report.processes.size() - shown);
}

}  // namespace

std::string to_text(const StatsReport& report, const Recording& recording,
                    const present::Style& style) {
  const profile::Kind kind = report.options.selection.kind;
  const present::Scope& scope = report.options.scope;
  std::string out = present::profile_heading(kind, "statistics", report.total, style, scope);
  out.pop_back();  // Every section brings its own empty line.
  for (const std::string& line : present::extent_lines(recording)) {
    out += present::paint(style, present::Role::kFaint, line) + "\n";
  }
  if (report.total.samples == 0) {
    out += '\n';
    out += present::nothing_sampled(kind, scope);
  } else {
    out += sizes(report, style);
    out += groups(report.entry_points, "Entry points", style);
    if (!report.lifetimes.empty()) out += groups(report.lifetimes, "Lifetimes", style);
    out += depths(report, style);
  }
  if (!report.threads.empty()) out += threads(report, recording, style);
  if (!report.processes.empty()) out += processes(report, recording, style);
  return out + present::profile_footer("", std::nullopt, report.is_split, style);
}

namespace {

using present::Fields;
using present::InRecording;
using present::Of;
using profile::ProcessTotals;

/// A thread, with what was counted of it unless the report is of a part.
struct ThreadRow {
  const ThreadLine& line;
  const profile::Thread& thread;
  std::optional<std::uint32_t> pid;
  bool has_count;
};

const Fields<ThreadRow>& fields_of(Of<ThreadRow> /*type*/) {
  static const auto kFields =
      Fields<ThreadRow>("thread")
          .field("tid", "", [](const ThreadRow& it) { return it.thread.tid; })
          .field("name", "", [](const ThreadRow& it) { return it.thread.name; })
          .field("pid", "", &ThreadRow::pid)
          .field("start_ns", "monotonic", [](const ThreadRow& it) { return it.thread.start; })
          .field("end_ns", "monotonic", [](const ThreadRow& it) { return it.thread.end; })
          .field("exact_bytes", "counted up to its last settling; not of parts of a recording",
                 [](const ThreadRow& it) {
                   return present::if_true(it.has_count, it.line.exact_bytes);
                 })
          .inlined([](const ThreadRow& it) { return it.line.measure; });
  return kFields;
}

std::vector<ThreadRow> thread_rows(const InRecording<StatsReport>& of) {
  std::vector<ThreadRow> rows;
  for (const ThreadLine& line : of.it.threads) {
    const profile::Thread& thread = of.recording.threads[line.thread];
    const bool is_known = thread.process < of.recording.processes.size();
    rows.push_back(
        {line, thread,
         is_known ? std::optional(of.recording.processes[thread.process].pid) : std::nullopt,
         !is_part(of.it)});
  }
  return rows;
}

struct ProcessRow {
  const ProcessTotals& totals;
  const profile::Process& process;
};

const Fields<ProcessRow>& fields_of(Of<ProcessRow> /*type*/) {
  static const auto kFields =
      Fields<ProcessRow>("counted_process")
          .field("pid", "", [](const ProcessRow& it) { return it.process.pid; })
          .field("executable", "", [](const ProcessRow& it) { return it.process.executable; })
          .field("exact_bytes", "counted up to the last settling of each thread",
                 [](const ProcessRow& it) { return it.totals.exact_bytes; })
          .field("unsettled_bound", "at most so many bytes more",
                 [](const ProcessRow& it) { return it.totals.unsettled_bound; })
          .field("certain_bytes", "", [](const ProcessRow& it) { return it.totals.certain_bytes; })
          .field("z", "the hits' difference from those expected, in standard errors",
                 [](const ProcessRow& it) { return it.totals.z; })
          .or_null();
  return kFields;
}

std::vector<ProcessRow> process_rows(const InRecording<StatsReport>& of) {
  std::vector<ProcessRow> rows;
  for (const ProcessTotals& totals : of.it.processes) {
    rows.push_back({totals, of.recording.processes[rows.size()]});
  }
  return rows;
}

}  // namespace

static const Fields<Group>& fields_of(Of<Group> /*type*/) {
  static const auto kFields =
      Fields<Group>("stats_group").field("name", "", &Group::name).inlined(&Group::measure);
  return kFields;
}

static const Fields<SizeClass>& fields_of(Of<SizeClass> /*type*/) {
  static const auto kFields = Fields<SizeClass>("size_class")
                                  .field("least", "requested bytes", &SizeClass::least)
                                  .field("most", "requested bytes", &SizeClass::most)
                                  .inlined(&SizeClass::measure);
  return kFields;
}

static const Fields<DepthClass>& fields_of(Of<DepthClass> /*type*/) {
  static const auto kFields = Fields<DepthClass>("depth_class")
                                  .field("least", "frames", &DepthClass::least)
                                  .field("most", "frames", &DepthClass::most)
                                  .field("samples", "", &DepthClass::samples);
  return kFields;
}

const Fields<InRecording<StatsReport>>& fields_of(Of<InRecording<StatsReport>> /*type*/) {
  static const auto kFields =
      Fields<InRecording<StatsReport>>("stats")
          .field("level", "confidence level of all intervals",
                 [](const StatsReport& it) { return it.options.level; })
          .field("kind", "", [](const StatsReport& it) { return it.options.selection.kind; })
          .field("is_split", "a quarter of the samples chose the instant, the others were measured",
                 &StatsReport::is_split)
          .inlined([](const StatsReport& it) { return it.options.scope; })
          .field("total", "", &StatsReport::total)
          .field("sizes", "by powers of two", &StatsReport::sizes)
          .field("entry_points", "the functions that were called to allocate",
                 &StatsReport::entry_points)
          .field("lifetimes", "shortest first, then what was still live; empty of sums",
                 &StatsReport::lifetimes)
          .field("depths", "of stacks", &StatsReport::depths)
          .field("truncated_samples", "with a stack that was cut", &StatsReport::truncated_samples)
          .field("thread_count", "threads before those with least were left out",
                 &StatsReport::thread_count)
          .field("threads", "", &thread_rows)
          .field("processes", "of whole recordings only", &process_rows);
  return kFields;
}

std::string to_json(const StatsReport& report, const profile::Recording& recording) {
  return present::document("stats", report, recording);
}

}  // namespace geiger::report
