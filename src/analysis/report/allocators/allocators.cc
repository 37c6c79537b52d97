#include "analysis/report/allocators/allocators.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "analysis/present/format.h"
#include "analysis/present/grid.h"
#include "analysis/present/text.h"
#include "analysis/profile/select/profile.h"
#include "analysis/report/overview/rss.h"
#include "base/check.h"
#include "estimation/scatter.h"

namespace geiger::report {

namespace {

/// Both figures of a program that takes next to nothing are above 0.
constexpr double kLeastCpu = 1e-6;

std::vector<double> cpu_of(const AllocatorRuns& runs) {
  std::vector<double> out;
  for (const AllocatorTrial& trial : runs.trials) out.push_back(std::max(trial.cpu, kLeastCpu));
  return out;
}

std::vector<double> peaks_of(const AllocatorRuns& runs) {
  std::vector<double> out;
  for (const AllocatorTrial& trial : runs.trials) {
    out.push_back(static_cast<double>(std::max<Bytes>(trial.peak, 1)));
  }
  return out;
}

/// A level at which all intervals of a comparison hold together (Bonferroni), on the upper side.
double joint_level(const std::vector<AllocatorRuns>& runs, double level) {
  constexpr double kFigures = 2;
  const auto compared = static_cast<double>(std::max<std::size_t>(runs.size() - 1, 1));
  return 1 - 2 * (1 - level) / (kFigures * compared);
}

}  // namespace

AllocatorsReport allocators_report(std::vector<AllocatorRuns> runs, double level) {
  GEIGER_CHECK(!runs.empty() && !runs.front().trials.empty());
  AllocatorsReport report;
  report.level = level;
  report.rounds = runs.front().trials.size();
  const std::vector<double> own_cpu = cpu_of(runs.front());
  const std::vector<double> own_peaks = peaks_of(runs.front());
  const double joint = joint_level(runs, level);
  for (AllocatorRuns& each : runs) {
    AllocatorLine line;
    if (each.fault.empty()) {
      const std::vector<double> cpu = cpu_of(each);
      const std::vector<double> peaks = peaks_of(each);
      line.cpu = estimation::mean_of(cpu, level);
      line.peak = estimation::mean_of(peaks, level);
      line.cpu_ratio = estimation::ratio_of_pairs(own_cpu, cpu, level);
      line.peak_ratio = estimation::ratio_of_pairs(own_peaks, peaks, level);
      const bool may_tell = report.rounds >= kLeastRounds && !each.is_own_too;
      line.joint_cpu_ratio = estimation::ratio_of_pairs(own_cpu, cpu, joint);
      line.joint_peak_ratio = estimation::ratio_of_pairs(own_peaks, peaks, joint);
      line.takes_less_cpu = may_tell && line.joint_cpu_ratio.interval.hi < 1;
      line.takes_less_memory = may_tell && line.joint_peak_ratio.interval.hi < 1;
    }
    line.runs = std::move(each);
    report.lines.push_back(std::move(line));
  }
  return report;
}

AllocatorMemory allocator_memory(const profile::Recording& recording, double level) {
  AllocatorMemory memory;
  RssOptions options;
  options.level = level;
  const auto rss = rss_report(recording, options);
  if (rss.has_value()) {
    const auto row = std::ranges::find(rss->rows, RssPart::kAllocator, &RssRow::part);
    if (row != rss->rows.end()) memory.kept = row->bytes;
  }
  profile::Selection selection;
  selection.kind = profile::Kind::kStranded;
  if (profile::check_kind(recording, selection.kind, selection.moment).has_value()) {
    const auto sums = profile::total(recording, profile::select(recording, selection));
    const present::Measure measure = present::measure_total(sums, level);
    if (measure.samples != 0) memory.stranded = measure.bytes;
  }
  return memory;
}

std::string ratio_text(const estimation::Estimate& ratio) {
  if (!std::isfinite(ratio.interval.hi)) return fmt::format("{:.2f}, one run", ratio.value);
  return fmt::format("{:.2f} [{:.2f}, {:.2f}]", ratio.value, ratio.interval.lo, ratio.interval.hi);
}

std::string name_of(const AllocatorRuns& runs) {
  const std::string name = present::printable(runs.name);
  if (runs.path.empty()) return name.empty() ? "its own" : fmt::format("its own ({})", name);
  return runs.version.empty() ? name : name + " " + runs.version;
}

namespace {

using estimation::Estimate;

std::string seconds(double value) { return present::duration(present::whole_number(value * 1e9)); }

std::string with_error(const std::string& value, const Estimate& mean, const auto& text) {
  if (!std::isfinite(mean.interval.hi)) return value;
  return fmt::format("{} ± {}", value, text((mean.interval.hi - mean.interval.lo) / 2));
}

std::string bytes(double value) { return present::exact_bytes(present::whole_number(value)); }

bool is_compared(const AllocatorLine& line) {
  return line.runs.fault.empty() && !line.runs.path.empty();
}

/// The allocator that takes least of something, if it is significantly less than the program's own.
const AllocatorLine* best_of(const AllocatorsReport& report, bool AllocatorLine::*takes_less,
                             Estimate AllocatorLine::*ratio) {
  const AllocatorLine* best = nullptr;
  for (const AllocatorLine& line : report.lines) {
    if (!is_compared(line) || !(line.*takes_less)) continue;
    if (best == nullptr || (line.*ratio).value < (best->*ratio).value) best = &line;
  }
  return best;
}

std::string finding(const AllocatorsReport& report) {
  const AllocatorLine* fast =
      best_of(report, &AllocatorLine::takes_less_cpu, &AllocatorLine::cpu_ratio);
  const AllocatorLine* small =
      best_of(report, &AllocatorLine::takes_less_memory, &AllocatorLine::peak_ratio);
  const auto both = [](const AllocatorLine& line) {
    return fmt::format("Under {} it takes {} of the processor time and {} of the peak memory.",
                       name_of(line.runs), ratio_text(line.cpu_ratio), ratio_text(line.peak_ratio));
  };
  if (report.rounds < kLeastRounds) {
    return fmt::format(
        "{} too few to say whether an allocator takes less: --rounds {} or more.",
        report.rounds == 1 ? "1 round is" : fmt::format("{} rounds are", report.rounds),
        kLeastRounds);
  }
  if (fast == nullptr && small == nullptr) {
    return fmt::format(
        "In {} no allocator took significantly less processor time or memory than the program's "
        "own.",
        present::plural(report.rounds, "round"));
  }
  std::string out = both(fast != nullptr ? *fast : *small);
  if (fast != nullptr && small != nullptr && fast != small) out += " " + both(*small);
  return out;
}

std::string table(const AllocatorsReport& report, const present::Style& style,
                  std::vector<present::Column> columns, const auto& cells_of) {
  columns.insert(columns.begin(), {"", present::Align::kLeft});
  columns.push_back({"", present::Align::kLeft});
  present::Grid grid(std::move(columns), 2);
  for (const AllocatorLine& line : report.lines) {
    if (!line.runs.fault.empty()) continue;
    std::vector<std::string> cells = cells_of(line);
    cells.insert(cells.begin(), name_of(line.runs));
    cells.emplace_back();
    grid.add(std::move(cells));
  }
  return grid.text(style);
}

std::string ratio_cell(const AllocatorLine& line, const Estimate& ratio) {
  return line.runs.path.empty() ? "1" : ratio_text(ratio);
}

std::string kept_text(const std::optional<Estimate>& estimate) {
  if (!estimate) return "not known";
  return present::figure(*estimate, present::Quantity::kBytes).text();
}

}  // namespace

std::string to_text(const AllocatorsReport& report, const present::Style& style) {
  std::string out = present::paint(style, present::Role::kHeading,
                                   present::wrap(finding(report), 0, style.width)) +
                    "\n";
  out += present::paint(
      style, present::Role::kFaint,
      present::wrap(
          fmt::format("{}: {}, one run under each allocator in turn; ± and [ ] are {} "
                      "intervals",
                      present::printable(report.program), present::plural(report.rounds, "round"),
                      present::level_text(report.level)),
          0, style.width));
  out += "\n";
  if (!report.ending.empty()) {
    out += present::paint(style, present::Role::kWarning,
                          fmt::format("Every run ended with {}.", report.ending)) +
           "\n";
  }
  out += "\n";
  using present::Column;
  out += table(report, style, {Column{"processor time"}, Column{"of its own"}},
               [](const AllocatorLine& line) -> std::vector<std::string> {
                 return {with_error(seconds(line.cpu.value), line.cpu, seconds),
                         ratio_cell(line, line.cpu_ratio)};
               });
  out += "\n";
  out += table(report, style, {Column{"peak RSS"}, Column{"of its own"}},
               [](const AllocatorLine& line) -> std::vector<std::string> {
                 return {with_error(bytes(line.peak.value), line.peak, bytes),
                         ratio_cell(line, line.peak_ratio)};
               });
  out += "\n";
  out += table(report, style, {Column{"kept by the allocator"}, Column{"stranded"}},
               [](const AllocatorLine& line) -> std::vector<std::string> {
                 return {kept_text(line.runs.memory.kept), kept_text(line.runs.memory.stranded)};
               });
  out += "\n";
  for (const AllocatorLine& line : report.lines) {
    if (line.runs.is_own_too) {
      out += present::wrap(fmt::format("{} is the program's own allocator: it was compared with "
                                       "itself.",
                                       name_of(line.runs)),
                           0, style.width) +
             "\n";
    }
    if (line.runs.fault.empty()) continue;
    out +=
        present::wrap(fmt::format("{}: {}.", name_of(line.runs), line.runs.fault), 0, style.width) +
        "\n";
  }
  return out +
         present::wrap(
             "Kept: overhead, caches and free memory at the largest RSS; stranded: free "
             "memory that live objects keep from being returned. Both come from one recorded "
             "run.",
             0, style.width) +
         "\n";
}

namespace {

using present::Fields;
using present::Of;

/// What is known of an allocator under which the program ran.
struct Compared {
  const AllocatorLine& line;
};

const Fields<Compared>& fields_of(Of<Compared> /*type*/) {
  static const auto kFields =
      Fields<Compared>()
          .field("cpu_seconds", "mean", [](const Compared& it) { return it.line.cpu; })
          .field("cpu_of_own", "ratio to the program's own",
                 [](const Compared& it) { return it.line.cpu_ratio; })
          .field("peak_rss", "mean", [](const Compared& it) { return it.line.peak; })
          .field("peak_rss_of_own", "ratio to the program's own",
                 [](const Compared& it) { return it.line.peak_ratio; })
          .field("takes_less_cpu", "beyond chance, all comparisons together",
                 [](const Compared& it) { return it.line.takes_less_cpu; })
          .field("takes_less_memory", "beyond chance, all comparisons together",
                 [](const Compared& it) { return it.line.takes_less_memory; })
          .field("is_own_too", "it is the program's own allocator",
                 [](const Compared& it) { return present::if_true(it.line.runs.is_own_too, true); })
          .field("kept", "overhead, caches and free memory at the largest RSS",
                 [](const Compared& it) { return it.line.runs.memory.kept; })
          .field("stranded", "free, but held by live objects of its page",
                 [](const Compared& it) { return it.line.runs.memory.stranded; })
          .field("runs", "", [](const Compared& it) { return it.line.runs.trials; });
  return kFields;
}

}  // namespace

static const Fields<AllocatorTrial>& fields_of(Of<AllocatorTrial> /*type*/) {
  static const auto kFields =
      Fields<AllocatorTrial>("allocator_run")
          .field("cpu_seconds", "user and system", &AllocatorTrial::cpu)
          .field("peak_rss", "the largest of its processes", &AllocatorTrial::peak);
  return kFields;
}

static const Fields<AllocatorLine>& fields_of(Of<AllocatorLine> /*type*/) {
  static const auto kFields =
      Fields<AllocatorLine>("allocator")
          .field("name", "", [](const AllocatorLine& it) { return it.runs.name; })
          .field("version", "empty: not known",
                 [](const AllocatorLine& it) { return it.runs.version; })
          .field("path", "empty: the program's own",
                 [](const AllocatorLine& it) { return it.runs.path; })
          .field("is_own", "the program's own",
                 [](const AllocatorLine& it) { return it.runs.path.empty(); })
          .field("fault", "why it is left out; then it has no figures",
                 [](const AllocatorLine& it) {
                   return present::if_true(!it.runs.fault.empty(), it.runs.fault);
                 })
          .inlined([](const AllocatorLine& it) {
            return present::if_true(it.runs.fault.empty(), Compared{it});
          });
  return kFields;
}

const Fields<AllocatorsReport>& fields_of(Of<AllocatorsReport> /*type*/) {
  static const auto kFields =
      Fields<AllocatorsReport>("compare-malloc")
          .field("level", "confidence level of all intervals", &AllocatorsReport::level)
          .field("program", "as typed", &AllocatorsReport::program)
          .field("rounds", "runs under each allocator", &AllocatorsReport::rounds)
          .field("ending", "how every run failed",
                 [](const AllocatorsReport& it) {
                   return present::if_true(!it.ending.empty(), it.ending);
                 })
          .field("allocators", "the program's own first", &AllocatorsReport::lines);
  return kFields;
}

std::string to_json(const AllocatorsReport& report) {
  return present::document("compare-malloc", report);
}

}  // namespace geiger::report
