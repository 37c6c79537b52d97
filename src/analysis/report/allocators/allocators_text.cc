#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "analysis/present/format.h"
#include "analysis/present/grid.h"
#include "analysis/present/text.h"
#include "analysis/report/allocators/allocators.h"

namespace geiger::report {
namespace {

using estimation::Estimate;

std::string seconds(double value) { return present::duration(present::whole_number(value * 1e9)); }

/// "0.55 [0.53, 0.57]"; "0.55, one run" if its error is unknown.
std::string ratio_text(const Estimate& ratio) {
  if (!std::isfinite(ratio.interval.hi)) return fmt::format("{:.2f}, one run", ratio.value);
  return fmt::format("{:.2f} [{:.2f}, {:.2f}]", ratio.value, ratio.interval.lo, ratio.interval.hi);
}

std::string with_error(const std::string& value, const Estimate& mean, const auto& text) {
  if (!std::isfinite(mean.interval.hi)) return value;
  return fmt::format("{} ± {}", value, text((mean.interval.hi - mean.interval.lo) / 2));
}

std::string bytes(double value) { return present::exact_bytes(present::whole_number(value)); }

std::string name_of(const AllocatorRuns& runs) {
  const std::string name = present::printable(runs.name);
  if (runs.path.empty()) return name.empty() ? "its own" : fmt::format("its own ({})", name);
  return runs.version.empty() ? name : name + " " + runs.version;
}

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

}  // namespace geiger::report
