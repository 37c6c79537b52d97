#include "analysis/report/allocators/stored_comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/profile/frames/labels.h"
#include "base/text.h"

namespace geiger::report {

namespace {

/// The first line; a later version of the format has another number.
constexpr std::string_view kFirstLine = "geiger compare-malloc 1";

/// Of what a user compares, by far.
constexpr std::size_t kMostAllocators = 1000, kMostTrials = 10'000;

std::string one_line(std::string value) {
  std::ranges::replace(value, '\n', '?');
  return value;
}

/// "CPU PEAK"; nothing if it is not a run's.
std::optional<AllocatorTrial> trial_in(std::string_view text) {
  const auto cpu = base::number_in<double>(base::take_part(text, ' '));
  const auto peak = base::number_in<Bytes>(text);
  if (!cpu || !peak || !std::isfinite(*cpu) || *cpu < 0) return std::nullopt;
  return AllocatorTrial{*cpu, *peak};
}

bool is_comparable(const std::vector<AllocatorRuns>& runs) {
  if (runs.empty() || runs.front().trials.empty()) return false;
  return std::ranges::all_of(runs, [&](const AllocatorRuns& each) {
    return !each.fault.empty() || each.trials.size() == runs.front().trials.size();
  });
}

}  // namespace

ComparedProgram compared_program(const profile::Recording& recording) {
  const profile::Process& main = profile::main_process(recording);
  const auto module = std::ranges::find(recording.modules, main.executable, &profile::Module::path);
  return {main.executable, module == recording.modules.end() ? "" : module->build_id};
}

std::string to_stored(const StoredComparison& comparison) {
  std::string out = fmt::format("{}\n", kFirstLine);
  const auto line = [&](std::string_view key, const std::string& value) {
    if (!value.empty()) out += fmt::format("{} {}\n", key, one_line(value));
  };
  line("executable", comparison.of.executable);
  line("build_id", comparison.of.build_id);
  line("command", comparison.command);
  for (const AllocatorRuns& runs : comparison.runs) {
    line("allocator", runs.name.empty() ? "?" : runs.name);
    line("version", runs.version);
    line("path", runs.path);
    if (runs.is_own_too) line("is_own_too", "1");
    line("fault", runs.fault);
    for (const AllocatorTrial& trial : runs.trials) {
      out += fmt::format("run {} {}\n", trial.cpu, trial.peak);
    }
  }
  return out;
}

base::Outcome<StoredComparison> from_stored(std::string_view text) {
  const base::Failure damaged{"is not a result of geiger compare-malloc"};
  StoredComparison stored;
  if (base::take_part(text) != kFirstLine) return damaged;
  while (!text.empty()) {
    std::string_view value = base::take_part(text);
    const std::string_view key = base::take_part(value, ' ');
    if (key == "executable") {
      stored.of.executable = value;
    } else if (key == "build_id") {
      stored.of.build_id = value;
    } else if (key == "command") {
      stored.command = value;
    } else if (key == "allocator" && stored.runs.size() < kMostAllocators) {
      stored.runs.emplace_back().name = value;
    } else if (stored.runs.empty()) {
      return damaged;
    } else if (AllocatorRuns& runs = stored.runs.back(); key == "version") {
      runs.version = value;
    } else if (key == "path") {
      runs.path = value;
    } else if (key == "is_own_too") {
      runs.is_own_too = true;
    } else if (key == "fault") {
      runs.fault = value;
    } else if (const auto trial = trial_in(value);
               key == "run" && trial && runs.trials.size() < kMostTrials) {
      runs.trials.push_back(*trial);
    } else {
      return damaged;
    }
  }
  if (!is_comparable(stored.runs)) return damaged;
  return stored;
}

}  // namespace geiger::report
