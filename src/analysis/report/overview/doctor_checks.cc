#include "analysis/report/overview/doctor_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "analysis/present/format.h"
#include "analysis/present/function_names.h"
#include "analysis/present/measure.h"
#include "analysis/present/recording_words.h"
#include "analysis/present/text.h"
#include "analysis/profile/frames/frame_rules.h"
#include "analysis/profile/frames/labels.h"
#include "analysis/profile/frames/stack_answers.h"
#include "analysis/report/faults/faults.h"
#include "vocabulary/vocabulary.h"

namespace geiger::report {

// Checks of what was recorded and what was not.

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
  // What starts and ends between two looks is not seen, and a run names only the first.
  if (unrecorded > 0) {
    lines.push_back(fmt::format("{} or more processes were not recorded", unrecorded));
  }
  if (lines.empty()) {
    const bool is_late =
        std::ranges::any_of(input.recording.processes, &profile::Process::is_attached);
    return {Severity::kGood, "traces",
            is_late
                ? "Every process that was attached to, and every segment, has its trace; others "
                  "were not looked for."
                : "Every process that was seen, and every segment, has its trace.",
            "", ""};
  }
  const auto has_refused = [](const profile::Process& process) {
    return process.refused.children != 0 || process.refused.segment_errno != 0;
  };
  const auto is_partial = [](const profile::Process& process) {
    return process.refused.children != 0 || process.calls_privately;
  };
  const bool is_any_refused =
      unrecorded > 0 || std::ranges::any_of(input.recording.processes, has_refused);
  const bool is_lost = unrecorded > 0 || std::ranges::any_of(input.recording.processes, is_partial);
  return {
      is_lost ? Severity::kDefect : Severity::kNote, "traces",
      fmt::format("{}.", fmt::join(lines, "; ")),
      is_lost ? "Their allocations are in no figure."
              : "All samples are there, but --segments and --keep did not limit the trace.",
      is_any_refused
          ? "The warnings of geiger summary say why. Where a trace could not be created, record "
            "with geiger run as root, or in a directory that the processes can write to "
            "(docs/guide/production.md)."
          : "Only standard functions are recorded (docs/guide/allocators.md)."};
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

Diagnosis check_watching(const CheckInput& input) {
  Nanoseconds cost = 0;
  for (const auto& observations : input.recording.observations) cost += observations.cost;
  // A process that went on without the library was watched for longer than it was recorded.
  const Nanoseconds recorded = profile::duration_of(input.recording);
  return {Severity::kGood, "watching",
          fmt::format("geiger took {} of processor time to read memory from outside{}.",
                      present::duration(cost),
                      cost >= recorded ? ""
                                       : fmt::format(", {} of one processor",
                                                     present::exact_share(cost, recorded))),
          "", ""};
}

Diagnosis check_guarding(const CheckInput& input) {
  const GuardedObjects guarding = guarding_of(input.recording);
  const std::string lacks = unguarded_text(guarding);
  return {lacks.empty() ? Severity::kGood : Severity::kNote, "guarding",
          fmt::format("{} of {} were guarded.{}", present::exact_count(guarding.guarded()),
                      present::plural(guarding.chosen, "chosen sample"), lacks),
          lacks.empty() ? "" : "Wrong uses of the others are not seen; profiles are not concerned.",
          guarding.full == 0 ? "" : "A smaller share, --guard=1/N, leaves slots to later objects."};
}

Diagnosis check_names(const CheckInput& input) {
  const Recording& recording = input.recording;
  std::uint64_t unnamed = 0, beside_source = 0, leaves = 0;
  for (const profile::Sample& sample : recording.samples) {
    if (sample.stack >= recording.stacks.size()) continue;
    const auto& locations = recording.stacks[sample.stack].locations;
    if (locations.empty()) continue;
    ++leaves;
    if (std::ranges::all_of(locations,
                            [&](auto location) { return has_name(recording, location); }))
      continue;
    ++unnamed;
    beside_source += std::ranges::any_of(locations, [&](std::uint32_t location) {
      return recording.is_source(recording.locations[location]);
    });
  }
  if (unnamed == 0) return {Severity::kGood, "names", "All frames have names.", "", ""};
  const bool is_native = 2 * beside_source > unnamed;
  return {
      Severity::kNote, "names",
      (is_native
           ? "Some native frames have no names; Python's functions and lines are not affected."
           : present::exact_share(unnamed, leaves) + " of the samples have frames without names."),
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

// Checks that know how a right sampler behaves.

namespace {

using profile::Ending;
using profile::Process;
using profile::Recording;

const char* const kReport =
    "Report it with this output: a correct sampler does not do this. Trust exact totals only.";

bool is_exact_throughout(const Recording& recording) {
  return std::ranges::all_of(recording.processes,
                             [](const Process& process) { return process.interval <= 1; });
}

/// A test of all processes together assumes that they drew independently.
template <typename Check>
bool fails_together(const DoctorReport& report, const Check& all) {
  return report.shared.empty() && all.has_failed();
}

std::string hits_text(const profile::HitCheck& hits) {
  return fmt::format("{}, {} expected (z = {}, {})", present::plural(hits.hits, "hit"),
                     present::exact_count(std::llround(hits.expected)), present::z_score(hits.z),
                     present::p_equation(hits.p_value));
}

std::string worst_test(const estimation::OffsetReport& offsets) {
  if (offsets.impossible > 0) {
    return present::plural(offsets.impossible, "sampled byte") + " outside its allocation";
  }
  const std::array tests{
      std::pair{offsets.anderson_darling.p_value, "their distribution (Anderson-Darling)"},
      std::pair{offsets.chi_square.p_value, "their pattern (chi-square)"},
      std::pair{offsets.first_byte.p_value, "the number of sampled first bytes"},
      std::pair{offsets.last_byte.p_value, "the number of sampled last bytes"}};
  const auto& worst = *std::ranges::min_element(tests);
  return fmt::format("{}, {}", worst.second, present::p_equation(worst.first));
}

std::string total_text(const profile::Agreement& agreement) {
  std::string exactly = present::exact_bytes(agreement.least);
  if (agreement.most > agreement.least) {
    exactly += " to " + present::exact_bytes(agreement.most);
  }
  return fmt::format("{} estimated, exactly {}",
                     present::figure(agreement.estimate, present::Quantity::kBytes).text(),
                     exactly);
}

}  // namespace

Diagnosis check_hits(const CheckInput& input) {
  const DoctorReport& report = input.report;
  if (is_exact_throughout(input.recording)) {
    return {Severity::kGood, "hits", "Every allocation was recorded: nothing was left to chance.",
            "", ""};
  }
  // One in 15,000 for all processes together, and for the sum.
  const double each = profile::HitCheck::kFalseAlarm / static_cast<double>(report.processes.size());
  const auto fails = [&](const ProcessCheck& check) { return check.hits.p_value < each; };
  const std::string failed =
      say_of_each(input, fails, [](const ProcessCheck& check) { return hits_text(check.hits); });
  if (failed.empty() && !report.hits.is_testable) {
    return {Severity::kGood, "hits",
            "Hits were not tested: the interval changed while recording, and some lack samples.",
            "", ""};
  }
  if (failed.empty() && !fails_together(report, report.hits)) {
    return {Severity::kGood, "hits", "Hits are as expected: " + hits_text(report.hits) + ".", "",
            ""};
  }
  const bool is_much = report.hits.z > 0;
  return {Severity::kDefect, "hits",
          "Hits are not as expected: " + (failed.empty() ? hits_text(report.hits) : failed) + ".",
          fmt::format("Estimates are too {} beyond their intervals.", is_much ? "high" : "low"),
          kReport};
}

Diagnosis check_offsets(const CheckInput& input) {
  const DoctorReport& report = input.report;
  const estimation::OffsetReport& all = report.offsets;
  if (all.samples + all.impossible == 0) {
    return {Severity::kGood, "offsets", "No sampled bytes to test.", "", ""};
  }
  const double each =
      estimation::OffsetReport::kFalseAlarm / static_cast<double>(report.processes.size());
  const auto fails = [&](const ProcessCheck& check) {
    return check.offsets.impossible > 0 || check.offsets.p_value() < each;
  };
  const std::string failed = say_of_each(
      input, fails, [](const ProcessCheck& check) { return worst_test(check.offsets); });
  if (failed.empty() && !fails_together(report, all)) {
    return {Severity::kGood, "offsets",
            fmt::format("Offsets of sampled bytes are as expected: {}, {}.",
                        present::plural(all.samples, "offset"), present::p_equation(all.p_value())),
            "", ""};
  }
  return {Severity::kDefect, "offsets",
          "Offsets of sampled bytes are not as expected: " +
              (failed.empty() ? worst_test(all) : failed) + ".",
          "Allocations were not sampled with the probabilities that their weights assume; how far "
          "estimates are off cannot be said.",
          kReport};
}

Diagnosis check_draws(const CheckInput& input) {
  const auto& shared = input.report.shared;
  if (shared.empty()) {
    return {Severity::kGood, "draws", "No two threads drew the same numbers.", "", ""};
  }
  const auto least = std::ranges::min_element(shared, {}, &profile::SharedDraws::log10_p);
  const std::string pids =
      "pid " + present::first_of(least->processes, kNamed, [&](std::uint32_t process) {
        return std::to_string(input.recording.processes[process].pid);
      });
  const bool has_one_seed = std::ranges::all_of(least->processes, [&](std::uint32_t process) {
    return input.recording.processes[process].seed ==
           input.recording.processes[least->processes.front()].seed;
  });
  const bool are_several = least->processes.size() > 1;
  return {Severity::kDefect, "draws",
          fmt::format("{} drew the same numbers: their first {} alike ({}), by chance once in "
                      "10^{:.0f} recordings.",
                      present::plural(least->threads, "thread"),
                      least->samples == 1 ? "sample is"
                                          : present::plural(least->samples, "sample") + " are",
                      pids, -least->log10_p),
          "They sample the same allocations and miss the same ones: each may be right, but the "
          "interval of their sum is much too narrow.",
          are_several && has_one_seed
              ? "They share a seed. Read them one by one, and record without --seed."
              : "Read them one by one; if no file was given twice, report it."};
}

Diagnosis check_samples(const CheckInput& input) {
  std::uint64_t counted = 0, missing = 0, surplus = 0;
  for (const ProcessCheck& check : input.report.processes) {
    counted += check.accounting.counted;
    missing += check.accounting.missing();
    // A trace that is being written goes on between its totals and its samples.
    if (input.process(check).ending != Ending::kStillOpen) surplus += check.accounting.surplus();
  }
  if (missing == 0 && surplus == 0) {
    return {Severity::kGood, "samples", "Every counted hit is accounted for.", "", ""};
  }
  if (surplus > 0) {
    return {Severity::kDefect, "samples",
            present::plural(surplus, "sample") + " more than were ever counted.",
            "The trace contains a record twice; it is counted twice.",
            "Record again; if it happens again, report it."};
  }
  const double share = static_cast<double>(missing) / static_cast<double>(counted);
  const bool is_material = share > input.uncertain_share();
  return {is_material ? Severity::kDefect : Severity::kNote, "samples",
          fmt::format("{} of {} left no sample, for no recorded reason.",
                      present::exact_count(missing), present::plural(counted, "hit")),
          fmt::format("Estimates are too low by about {}, {} than their intervals allow for. "
                      "(Allocations that failed leave no sample either.)",
                      present::exact_share(missing, counted), is_material ? "more" : "less"),
          is_material ? "Record again; if it happens again, report it." : ""};
}

Diagnosis check_total(const CheckInput& input) {
  const auto fails = [](const ProcessCheck& check) { return check.agreement.has_failed(); };
  const std::string failed = say_of_each(
      input, fails, [](const ProcessCheck& check) { return total_text(check.agreement); });
  if (!failed.empty()) {
    return {Severity::kDefect, "total",
            "The estimate misses the exact total even at 99.9999 %: " + failed + ".",
            "Samples are missing, duplicated or of the wrong size; every estimate is off by as "
            "much or more.",
            "See the other findings for the cause; without one, report it."};
  }
  const std::string exactly =
      present::counted_bytes(input.totals.exact_bytes, input.totals.unsettled_bound);
  const std::string miss = present::miss_text(input.allocated, input.totals, input.report.hits);
  return {Severity::kGood, "total",
          fmt::format("The estimate {}: {} estimated, exactly {}.",
                      miss.empty() ? "agrees with the exact total" : "is " + miss,
                      present::figure(input.allocated, present::Quantity::kBytes).text(), exactly),
          "", ""};
}

}  // namespace geiger::report
