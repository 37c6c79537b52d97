// Checks that know how a right sampler behaves.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "analysis/present/format.h"
#include "analysis/present/measure.h"
#include "analysis/present/text.h"
#include "analysis/report/overview/doctor_checks.h"

namespace geiger::report {
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
  std::string exactly = present::exact_bytes(input.totals.exact_bytes);
  if (input.totals.unsettled_bound > 0) {
    exactly += fmt::format(" + at most {}", present::exact_bytes(input.totals.unsettled_bound));
  }
  return {Severity::kGood, "total",
          fmt::format("The estimate agrees with the exact total: {} estimated, exactly {}.",
                      present::figure(input.allocated, present::Quantity::kBytes).text(), exactly),
          "", ""};
}

}  // namespace geiger::report
