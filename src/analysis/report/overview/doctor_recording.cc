// Checks of what was recorded and what was not.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "analysis/present/extent.h"
#include "analysis/present/format.h"
#include "analysis/present/names.h"
#include "analysis/present/text.h"
#include "analysis/present/unnamed.h"
#include "analysis/profile/frames/plumbing_names.h"
#include "analysis/profile/frames/stack_answers.h"
#include "analysis/profile/labels.h"
#include "analysis/report/overview/doctor_checks.h"
#include "vocabulary/stack_frames.h"

namespace geiger::report {
namespace {

using profile::Ending;
using profile::Recording;

/// With stacks of which `is_so` is set.
std::uint64_t samples_of_stacks(const Recording& recording, bool profile::Stack::*is_so) {
  const auto is_one = [&](const profile::Sample& sample) {
    return sample.stack < recording.stacks.size() && recording.stacks[sample.stack].*is_so;
  };
  auto samples = static_cast<std::uint64_t>(std::ranges::count_if(recording.samples, is_one));
  for (const profile::Tally& tally : recording.tallies) {
    if (is_one(tally.alike)) samples += tally.allocated;
  }
  return samples;
}

/// Frames whose symbol is unknown are called by their address.
bool has_name(const Recording& recording, std::uint32_t location) {
  const auto& frames = recording.locations[location].frames;
  return !frames.empty() && std::ranges::none_of(frames, [&](std::uint32_t frame) {
    return profile::is_address_name(recording.frames[frame].function);
  });
}

/// The file names of modules with frames that have no name, those of most samples first, but
/// for our own library; at most `most`, and how many more there are.
std::string modules_without_names(const Recording& recording, std::size_t most) {
  std::map<std::string, std::uint64_t, std::less<>> samples;
  for (const profile::Sample& sample : recording.samples) {
    if (sample.stack >= recording.stacks.size()) continue;
    for (const std::uint32_t index : recording.stacks[sample.stack].locations) {
      const std::uint32_t module = recording.locations[index].module;
      if (module >= recording.modules.size() || has_name(recording, index)) continue;
      ++samples[std::string(profile::file_name_of(recording.modules[module].path))];
    }
  }
  std::erase_if(samples, [](const auto& entry) { return entry.first.starts_with("libgeiger"); });
  std::vector<std::pair<std::uint64_t, std::string>> order;
  order.reserve(samples.size());
  for (const auto& [name, count] : samples) order.emplace_back(count, name);
  std::ranges::sort(order, [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });
  return present::first_of(order, most, [](const auto& entry) { return entry.second; });
}

}  // namespace

Diagnosis check_threads(const CheckInput& input) {
  const profile::ProcessTotals& totals = input.totals;
  if (totals.unsettled_threads == 0) {
    return {Severity::kGood, "threads",
            fmt::format("All allocations of {} are counted.",
                        present::plural(totals.threads, "thread")),
            "", ""};
  }
  return {Severity::kNote, "threads",
          fmt::format("The last bytes of {} of {} are not counted: at most {}.",
                      present::exact_count(totals.unsettled_threads),
                      present::plural(totals.threads, "thread"),
                      present::exact_bytes(totals.unsettled_bound)),
          "The exact total is too low by at most that; estimates are not affected.",
          "Only if the exact total matters: let the program end by exit()."};
}

Diagnosis check_ending(const CheckInput& input) {
  const auto has_ended = [&](const ProcessCheck& check) {
    const Ending ending = input.process(check).ending;
    return ending == Ending::kExited || ending == Ending::kStopped;
  };
  const auto not_exited = [&](const ProcessCheck& check) { return !has_ended(check); };
  const std::string others = say_of_each(input, not_exited, [&](const ProcessCheck& check) {
    return present::ending_text(input.process(check));
  });
  if (others.empty()) {
    return {Severity::kGood, "ending", "Recorded to the end of every process.", "", ""};
  }
  const auto is_full = [&](const ProcessCheck& check) {
    return input.process(check).ending == Ending::kSwitchedOff;
  };
  const bool is_off = std::ranges::any_of(input.report.processes, is_full);
  return {Severity::kNote, "ending", others + ".",
          is_off ? "All figures end where the recording stopped; later allocations are unknown."
                 : "The recording is complete up to then; live memory is as of then.",
          is_off ? "Make room, raise --trace-limit or --interval, and record again." : ""};
}

/// Processes and segments that have no trace.
Diagnosis check_traces(const CheckInput& input) {
  std::vector<std::string> lines = present::refused_lines(input.recording);
  const std::uint64_t unrecorded = input.recording.unrecorded_processes;
  if (unrecorded > 0) {
    lines.push_back(fmt::format(
        "{} not recorded",
        unrecorded == 1 ? "1 process was" : fmt::format("{} processes were", unrecorded)));
  }
  if (lines.empty()) {
    return {Severity::kGood, "traces", "Every process and segment has its trace.", "", ""};
  }
  const auto lost_children = [](const profile::Process& process) {
    return process.refused.children != 0;
  };
  const bool is_lost =
      unrecorded > 0 || std::ranges::any_of(input.recording.processes, lost_children);
  return {is_lost ? Severity::kDefect : Severity::kNote, "traces",
          fmt::format("{}.", fmt::join(lines, "; ")),
          is_lost ? "Their allocations are in no figure."
                  : "All samples are there, but --segments and --keep did not limit the trace.",
          "The warnings of geiger summary say why. Where a trace could not be created, record with "
          "geiger run as root, or in a directory that the processes can write to "
          "(docs/guide/production.md)."};
}

/// Samples that are missing by a known cause, or frees.
Diagnosis check_drops(const CheckInput& input) {
  const vocabulary::Drops drops = profile::drops_of(input.recording);
  std::string what;
  for (std::size_t i = 0; i < drops.size(); ++i) {
    if (drops[i] == 0) continue;
    what += fmt::format("{}{}: {}", what.empty() ? "" : "; ", present::exact_count(drops[i]),
                        present::drop_cause_text(static_cast<vocabulary::DropCause>(i)));
  }
  const std::uint64_t lost = vocabulary::lost_samples(drops);
  const std::uint64_t all = std::reduce(drops.begin(), drops.end());
  if (all == 0) return {Severity::kGood, "drops", "Nothing was dropped.", "", ""};
  const std::uint64_t samples = profile::recorded_samples(input.recording);
  const double share = static_cast<double>(lost) / static_cast<double>(lost + samples);
  const bool is_material = lost > 0 && share > input.uncertain_share();
  std::string meaning;
  if (lost > 0) {
    meaning = fmt::format(
        "Estimates are too low by at most about {}, {} than their intervals "
        "allow for. ",
        present::exact_share(lost, lost + samples), is_material ? "more" : "less");
  }
  if (all > lost)
    meaning += "Objects whose frees were missed count as live until their addresses are reused.";
  return {is_material ? Severity::kDefect : Severity::kNote, "drops", "Dropped " + what + ".",
          meaning, is_material ? "Raise --trace-limit or --interval, and record again." : ""};
}

Diagnosis check_stacks(const CheckInput& input) {
  const std::uint64_t truncated = samples_of_stacks(input.recording, &profile::Stack::is_truncated);
  const std::uint64_t folded = samples_of_stacks(input.recording, &profile::Stack::is_folded);
  const std::uint64_t samples = profile::recorded_samples(input.recording);
  const std::string share = present::exact_share(truncated, samples);
  if (truncated == 0) {
    return {Severity::kGood, "stacks", "No stacks are truncated.",
            folded == 0 ? ""
                        : present::exact_share(folded, samples) +
                              " of the samples have stacks in which recursion is folded: calls "
                              "that repeat are in them twice.",
            ""};
  }
  return {Severity::kNote, "stacks", share + " of the samples have truncated stacks.",
          "Their outer callers are unknown; trees show them under [truncated]. Self figures and "
          "totals of the run are not affected.",
          profile::has_stacks_at_limit(input.recording)
              ? fmt::format("Record with --max-frames {}.", vocabulary::kMostFrames)
              : "If the program keeps frame pointers, try geiger run --unwind fp."};
}

Diagnosis check_interpreters(const CheckInput& input) {
  const std::vector<std::string> lines = present::interpreter_lines(input.recording);
  if (lines.empty()) {
    return {Severity::kGood, "interpreters",
            "Stacks have Python's frames, and its small objects are sampled.", "", ""};
  }
  return {Severity::kNote, "interpreters", fmt::format("{}.", fmt::join(lines, ". ")),
          "Stacks without its frames show the interpreter's own functions; small objects that are "
          "not sampled appear as arenas of 256 KiB to 1 MiB.",
          ""};
}

Diagnosis check_names(const CheckInput& input) {
  const Recording& recording = input.recording;
  std::uint64_t unnamed = 0, leaves = 0;
  for (const profile::Sample& sample : recording.samples) {
    if (sample.stack >= recording.stacks.size()) continue;
    const auto& locations = recording.stacks[sample.stack].locations;
    if (locations.empty()) continue;
    ++leaves;
    unnamed += std::ranges::all_of(
                   locations, [&](std::uint32_t location) { return has_name(recording, location); })
                   ? 0
                   : 1;
  }
  if (unnamed == 0) return {Severity::kGood, "names", "All frames have names.", "", ""};
  return {Severity::kNote, "names",
          present::exact_share(unnamed, leaves) + " of the samples have frames without names.",
          "They are shown as module+0x1234. Figures are not affected.",
          fmt::format(
              "Install the -dbgsym package of {}, or {}. geiger symbolize also says which files "
              "are missing, or were replaced since they ran.",
              modules_without_names(recording, kNamed),
              present::ask_debuginfod(input.report.options.run))};
}

Diagnosis check_damage(const CheckInput& input) {
  const auto& warnings = input.recording.warnings;
  if (warnings.empty() && !input.report.options.is_damaged) {
    return {Severity::kGood, "damage", "The traces are undamaged.", "", ""};
  }
  std::string what;
  for (std::size_t i = 0; i < std::min(kNamed, warnings.size()); ++i) {
    what += (what.empty() ? "" : "; ") + warnings[i];
  }
  if (warnings.size() > kNamed) what += fmt::format("; and {} more", warnings.size() - kNamed);
  const bool is_damaged = input.report.options.is_damaged;
  return {is_damaged ? Severity::kDefect : Severity::kNote, "damage", what + ".",
          is_damaged ? "Data before the damage is used; data after it is lost." : "",
          is_damaged ? "If the file was copied, copy it again." : ""};
}

Diagnosis check_detection(const CheckInput& input) {
  const auto samples = input.allocated.samples;
  if (!(input.detection_limit >= 1)) {
    return {Severity::kGood, "detection", "No allocation is missing.", "", ""};
  }
  constexpr std::uint64_t kFew = 100;  // The total is then uncertain by 20 %.
  const std::string what = fmt::format("{}; any site without samples allocated less than {}.",
                                       present::plural(samples, "sample") + " chosen by chance",
                                       present::bound_bytes(input.detection_limit));
  if (samples >= kFew) return {Severity::kGood, "detection", what, "", ""};
  return {Severity::kNote, "detection", what, "Few samples: intervals are wide.",
          fmt::format("geiger plan{} suggests an --interval.", input.run)};
}

}  // namespace geiger::report
