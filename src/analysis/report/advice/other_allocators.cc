#include "analysis/report/advice/other_allocators.h"

#include <fmt/format.h>

#include <cctype>
#include <utility>

#include "analysis/present/format.h"

namespace geiger::report {

namespace {

bool is_enough(const AllocatorLine& line, const AllocatorLine& own,
               const advice::Options& options) {
  if (line.runs.is_own_too) return false;
  const double cpu = 1 - line.joint_cpu_ratio.interval.hi;
  const double peak = 1 - line.joint_peak_ratio.interval.hi;
  return cpu >= options.least_share ||
         (peak >= options.least_share &&
          peak * own.peak.interval.lo >= static_cast<double>(options.least_bytes));
}

/// "saves 8 % [6, 11] of 5.1 s of processor time".
std::string clause_of(const estimation::Estimate& ratio, const std::string& whole) {
  const auto& [lo, hi] = ratio.interval;
  if (hi < 1) {
    const present::Share saved{1 - ratio.value, {1 - hi, 1 - lo}};
    return fmt::format("saves {} of {}", present::figure(saved).text(), whole);
  }
  const present::Figure more = present::growth_figure(ratio.value - 1, {lo - 1, hi - 1});
  return lo > 1 ? fmt::format("takes {} more than {}", present::without_plus(more), whole)
                : fmt::format("takes {} of {}", ratio_text(ratio), whole);
}

std::string saving_of(const AllocatorLine& line, const AllocatorLine& own) {
  const std::string cpu =
      present::duration(present::whole_number(1e9 * own.cpu.value)) + " of processor time";
  const std::string peak =
      present::exact_bytes(present::whole_number(own.peak.value)) + " of peak RSS";
  std::string saving = fmt::format("{}, and {}.", clause_of(line.joint_cpu_ratio, cpu),
                                   clause_of(line.joint_peak_ratio, peak));
  saving.front() = static_cast<char>(std::toupper(saving.front()));
  return saving;
}

}  // namespace

OtherAllocators other_allocators(StoredComparison stored, const advice::Options& options) {
  const AllocatorsReport report = allocators_report(std::move(stored.runs), options.level);
  OtherAllocators found;
  found.program = std::move(stored.command);
  found.rounds = report.rounds;
  found.why_not.clear();
  if (report.rounds < kLeastRounds) {
    found.why_not =
        fmt::format("compared in too few rounds: geiger compare-malloc --rounds {}", kLeastRounds);
    return found;
  }
  const AllocatorLine& own = report.lines.front();
  for (const AllocatorLine& line : report.lines) {
    if (!line.runs.fault.empty() || line.runs.path.empty()) continue;
    found.compared.push_back(name_of(line.runs));
    if (!is_enough(line, own, options)) continue;
    found.better.push_back({.name = name_of(line.runs),
                            .path = line.runs.path,
                            .saving = saving_of(line, own),
                            .cpu_ratio = line.joint_cpu_ratio,
                            .peak_ratio = line.joint_peak_ratio});
  }
  if (found.compared.empty()) found.why_not = "the program ran under no other allocator";
  return found;
}

}  // namespace geiger::report
