// The sentences of `leaks`: what was judged, what was found, and what is left open.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/present/function_names.h"
#include "analysis/present/heading.h"
#include "analysis/present/measure.h"
#include "analysis/present/text.h"
#include "analysis/report/lives/leaks.h"
#include "analysis/report/overview/summary.h"

namespace geiger::report {

namespace {

using profile::LeakVerdict;
using profile::Open;

constexpr std::size_t kUndecidedShown = 5;

/// Of what is known to grow.
std::string growing_by(const LeakLine& line) {
  if (line.site.late) return growth_rate(line);
  return present::without_plus(present::change_figure(line.rate.value, line.rate.interval)) +
         " a second";
}

/// That a name stands for several stacks, or for others than those of a suspect.
std::string other_stacks(const LeaksReport& report, const std::string& name, std::size_t sites) {
  const bool is_suspect_too = std::ranges::any_of(report.lines, [&](const LeakLine& line) {
    return line.site.verdict == LeakVerdict::kSuspect && name_and_place(line) == name;
  });
  if (is_suspect_too) {
    return sites == 1 ? " (called from elsewhere than the suspect)"
                      : fmt::format(" ({} stacks besides those of suspects)", sites);
  }
  return sites > 1 ? fmt::format(" ({} sites)", sites) : "";
}

std::string bytes_text(double bytes) { return present::exact_bytes(present::whole_number(bytes)); }

/// "put kept 22.6 MiB ± 3 of its allocations while blocks of 2,064 bytes in use stayed 40,000".
std::string kept_text(const LeakLine& line) {
  const profile::LateGrowth& late = *line.site.late;
  return fmt::format("{} kept {} of its allocations{} {}", name_and_place(line),
                     present::figure(estimated_bytes(line.live), present::Quantity::kBytes).text(),
                     late.by == profile::LateGrowth::By::kChunks ? " while" : ";",
                     in_use_text(late));
}

bool is_late(Open open) {
  return open == Open::kTurnover || open == Open::kChunks || open == Open::kUnmeasured;
}

/// The sites that `is_wanted`, as a list of names; empty: none.
template <typename IsWanted>
std::string names_of_sites(const LeaksReport& report, const IsWanted& is_wanted) {
  // Sites are stacks: those of one line are named once.
  std::vector<std::pair<std::string, std::size_t>> lines;
  for (const LeakLine& line : report.lines) {
    if (!is_wanted(line)) continue;
    const auto at =
        std::ranges::find(lines, name_and_place(line), &decltype(lines)::value_type::first);
    if (at == lines.end()) {
      lines.emplace_back(name_and_place(line), 1);
    } else {
      ++at->second;
    }
  }
  return present::first_of(lines, kUndecidedShown, [&](const auto& line) {
    const auto& [name, sites] = line;
    return name + other_stacks(report, name, sites);
  });
}

/// The sites that something leaves undecided.
std::string undecided_names(const LeaksReport& report, Open open) {
  return names_of_sites(report, [&](const LeakLine& line) {
    return line.site.open == open && line.site.owner == profile::kNone;
  });
}

present::Figure rate_of(const profile::GrowingChunks& chunks) {
  return present::change_figure(
      chunks.bytes / chunks.seconds,
      {chunks.interval.lo / chunks.seconds, chunks.interval.hi / chunks.seconds});
}

/// How much longer would decide; nothing of what would have been found already.
std::string late_remedy(const LeakLine& line, const LeaksReport& report) {
  const double after = line.site.late->decided_after;
  const double elapsed = static_cast<double>(report.judged.after_start) / 1e9;
  if (after <= 0) return "";
  if (after > elapsed) {
    return fmt::format(
        " Record for {} to decide: that finds a leak of a tenth of it in four of five cases; a "
        "smaller --interval takes less.",
        present::duration(static_cast<Nanoseconds>(after * 1e9)));
  }
  return " If a tenth of it leaked, that would probably have been found; a longer run finds "
         "smaller "
         "leaks.";
}

/// Sites that kept what they allocated, which may have taken the place of older objects.
std::string undecided_turnover(const LeaksReport& report) {
  std::string out;
  std::size_t shown = 0;
  for (const LeakLine& line : report.lines) {
    // Others are named with the chunks that grow.
    const bool is_named =
        line.site.open == Open::kChunks &&
        std::ranges::any_of(report.growing, [&](const profile::GrowingChunks& chunks) {
          return line.site.has_growing(chunks.chunk);
        });
    if (!is_late(line.site.open) || is_named) continue;
    if (++shown > kUndecidedShown) break;
    out += fmt::format(
        "Undecided: {}. It may be turnover of what was allocated before {}.{}\n", kept_text(line),
        line.site.late->by == profile::LateGrowth::By::kInherited ? "the fork" : "the recording",
        late_remedy(line, report));
  }
  const bool is_unmeasured = std::ranges::any_of(
      report.lines, [](const LeakLine& line) { return line.site.open == Open::kUnmeasured; });
  if (is_unmeasured && !report.walk_fault.empty()) {
    out += fmt::format("Blocks in use could not be counted ({}).\n", report.walk_fault);
  }
  return out;
}

using ChunkSizes = std::vector<const profile::GrowingChunks*>;

/// "blocks of 2,064 bytes in use grew by 52 KiB ± 3 a second (false-alarm rate 0.01)".
std::string grown_sizes_text(const ChunkSizes& sizes) {
  double q = 0;
  for (const profile::GrowingChunks* chunks : sizes) q = std::max(q, chunks->q_value);
  if (sizes.size() == 1) {
    return fmt::format("{} ({})", growing_text(*sizes.front()), false_alarm_rate(q));
  }
  return fmt::format("blocks in use of {} sizes grew, by {} a second ({} at most)",
                     present::exact_count(sizes.size()),
                     present::first_of(sizes, kUndecidedShown,
                                       [](const profile::GrowingChunks* chunks) {
                                         return fmt::format("{} (of {} bytes)",
                                                            present::without_plus(rate_of(*chunks)),
                                                            present::exact_count(chunks->chunk));
                                       }),
                     false_alarm_rate(q));
}

/// Sizes with the same sites share a sentence.
std::string undecided_chunks(const LeaksReport& report) {
  std::vector<std::pair<std::string, ChunkSizes>> by_sites;
  for (const profile::GrowingChunks& chunks : report.growing) {
    const std::string names = names_of_sites(report, [&](const LeakLine& line) {
      return line.site.open != Open::kNothing && line.site.has_growing(chunks.chunk);
    });
    const auto at = std::ranges::find(by_sites, names, &decltype(by_sites)::value_type::first);
    ChunkSizes& sizes = at == by_sites.end() ? by_sites.emplace_back(names, 0).second : at->second;
    sizes.push_back(&chunks);
  }
  const auto listed =
      static_cast<std::uint64_t>(std::ranges::count_if(report.lines, [](const LeakLine& line) {
        return !line.is_suspect() && line.site.verdict == LeakVerdict::kUndecided;
      }));
  std::string out;
  for (std::size_t i = 0; i < std::min(by_sites.size(), kUndecidedShown); ++i) {
    const auto& [names, sizes] = by_sites[i];
    std::string_view unnamed = ", and no site with samples of that size grew by them";
    if (sizes.size() > 1) unnamed = ", and no site with samples of these sizes grew by them";
    if (listed < report.undecided) unnamed = " at sites that are not listed (--top 0 lists all)";
    out += fmt::format("Undecided: {}{}{}. A longer run or a smaller --interval decides.\n",
                       grown_sizes_text(sizes),
                       names.empty() ? unnamed : ", at one or more of these sites: ", names);
  }
  if (by_sites.size() > kUndecidedShown) {
    out += "Blocks of other sizes grew too; --json lists them.\n";
  }
  return out;
}

/// Functions whose sites grow together.
std::string undecided_owners(const LeaksReport& report) {
  std::string out;
  for (const OwnerLine& owner : report.owners) {
    if (owner.line.site.verdict == LeakVerdict::kSuspect) continue;
    out += fmt::format(
        "Possible leak, not proven: the {} below {} grew by {} in total, and which of them did is "
        "not known. A longer run or a smaller --interval decides.\n",
        present::plural(owner.sites, "site"), name_and_place(owner.line), growing_by(owner.line));
  }
  return out;
}

std::string undecided_sites(const LeaksReport& report) {
  const std::pair<Open, std::string> reasons[] = {
      {Open::kAlone, fmt::format("with growth that would be significant alone, but may be chance "
                                 "in one of {}",
                                 present::plural(report.tested, "site"))},
      {Open::kSlowing, "with growth that may have slowed down"},
      {Open::kSamples, fmt::format("with growth but fewer than the {} samples that a verdict needs",
                                   report.samples_needed)}};
  std::string out;
  for (const auto& [open, reason] : reasons) {
    const std::string names = undecided_names(report, open);
    if (names.empty()) continue;
    const bool has_fewer =
        open == Open::kAlone && report.options.search.by == profile::LifetimeGrouping::kStack;
    out +=
        fmt::format("Undecided, {}: {}. {} longer run or a smaller --interval decides.\n", reason,
                    names, has_fewer ? "--by function judges fewer sites at once; a" : "A");
  }
  return out;
}

/// That too few samples were there to notice a leak, and what would do.
std::string unnoticed_growth(const LeaksReport& report) {
  return fmt::format(
      "Too few samples to rule out a leak of up to {} at one site, with {} live. A longer run or a "
      "smaller --interval decides.\n",
      present::bound_bytes(report.may_have_leaked),
      present::figure(estimated_bytes(report.live), present::Quantity::kBytes).text());
}

/// What keeps a leak from being seen, and what would show it.
std::string open_questions(const LeaksReport& report) {
  std::string out;
  if (report.undecided > 0) out += undecided_sites(report) + undecided_turnover(report);
  out += undecided_chunks(report) + undecided_owners(report);
  if (report.small) {
    out += fmt::format(
        "Undecided: sites with fewer than {} samples each grew by {} in total. --by function "
        "combines them; a longer run or a smaller --interval separates them.\n",
        report.samples_needed, growth_rate(*report.small));
  }
  if (report.tested == 0) {
    out += fmt::format(
        "Undecided: no site has the {} samples that a verdict needs. A longer run or a smaller "
        "--interval decides.\n",
        report.samples_needed);
  }
  if (!report.missing.empty()) {
    out += fmt::format("Undecided: samples are missing ({}), and a leak may be among them.\n",
                       report.missing);
  }
  if (report.judged.freed_from) {
    out += fmt::format(
        "Undecided: from {} on the program freed most of its heap and allocated next to nothing; "
        "earlier leaks may be hidden. --until cleanup judges the heap before that.\n",
        present::duration(*report.judged.freed_from));
  }
  if (report.tested > 0 && !report.can_be_clear) out += unnoticed_growth(report);
  return out;
}

/// The first sentence of a recording that began late, where that is what leaves it undecided.
std::string late_sentence(const LeaksReport& report, const std::string& among) {
  if (!report.growing.empty()) {
    return fmt::format("Undecided{}: {}.", among, growing_text(report.growing.front()));
  }
  return fmt::format("Undecided{}: {}; it may be turnover of what was allocated before.", among,
                     kept_text(report.lines.front()));
}

/// The first sentence where nothing is suspect and a leak may be there all the same.
std::string undecided_sentence(const LeaksReport& report, const std::string& among) {
  const bool is_of_late = report.undecided > 0 && is_late(report.lines.front().site.open);
  if (is_of_late || !report.growing.empty()) return late_sentence(report, among);
  const bool is_hidden = !report.owners.empty() || report.small || report.tested == 0 ||
                         !report.missing.empty() || report.judged.freed_from.has_value();
  if (report.undecided == 0 && is_hidden) {
    return fmt::format("Undecided: no leak suspects{}, but a leak may be hidden.", among);
  }
  if (report.undecided == 0) {
    return fmt::format(
        "Undecided: no leak suspects{} among {}, but a leak of up to {} could have been missed.",
        among, present::plural(report.tested, "site"),
        present::bound_bytes(report.may_have_leaked));
  }
  const LeakLine& line = report.lines.front();
  if (line.too_short > 0) {
    return fmt::format("Undecided{}: {} may have grown; it was seen for only {}.", among,
                       name_and_place(line), present::duration(line.too_short));
  }
  const estimation::Interval& rate = line.rate.interval;
  // "6 MiB ± 73" says less than its upper limit.
  if (rate.lo <= 0) {
    return fmt::format("Undecided{}: {} may have grown, by up to {} a second.", among,
                       name_and_place(line), present::bound_bytes(rate.hi));
  }
  return fmt::format("Possible leak, not proven{}: {} grew by {}.", among, name_and_place(line),
                     growing_by(line));
}

}  // namespace

std::string name_and_place(const LeakLine& line) {
  const std::string& name = line.site.group.name;
  return line.where.empty() ? name : fmt::format("{} ({})", name, present::printable(line.where));
}

std::string growth_limit(const LeakLine& line) {
  const auto& late = line.site.late;
  if (late && late->at_least > 0) {
    return "at least " + present::least_bytes(late->at_least / late->seconds);
  }
  const bool has_lower = std::isfinite(line.rate.interval.lo);
  return has_lower ? "" : "at most " + present::bound_bytes(std::max(0.0, line.rate.interval.hi));
}

std::string growth_rate(const LeakLine& line) {
  const std::string limit = growth_limit(line);
  return (limit.empty() ? present::change_figure(line.rate.value, line.rate.interval).text()
                        : limit) +
         " a second";
}

std::string unreachable_text(const HeldSite& site) {
  const HeldPart& part = site.parts.front();
  return fmt::format("{} of {} is {}", report::bytes_text(part.live), site_text(site),
                     held_text(part));
}

std::string live_text(const LeakLine& line) {
  return fmt::format("{} in {}",
                     present::figure(estimated_bytes(line.live), present::Quantity::kBytes).text(),
                     present::objects_text(line.live));
}

std::string stopped_sentence(const LeakLine& line) {
  return fmt::format("Not suspect: {} with {}, stopped growing at {}.", name_and_place(line),
                     live_text(line), present::duration(line.stopped));
}

std::string sites_text(const OwnerLine& owner) {
  return owner.accused == owner.sites ? present::plural(owner.sites, "site")
                                      : fmt::format("{} of {}", present::exact_count(owner.accused),
                                                    present::plural(owner.sites, "site"));
}

std::string counts_text(const LeaksReport& report) {
  std::string text = fmt::format("{} of {} suspect", present::exact_count(report.suspects),
                                 present::plural(report.judged_sites, "site"));
  if (report.undecided > 0)
    text += fmt::format(", {} undecided", present::exact_count(report.undecided));
  return text;
}

std::string growing_text(const profile::GrowingChunks& chunks) {
  return fmt::format("blocks of {} bytes in use grew by {} a second",
                     present::exact_count(chunks.chunk), present::without_plus(rate_of(chunks)));
}

std::string in_use_text(const profile::LateGrowth& late) {
  switch (late.by) {
    case profile::LateGrowth::By::kNothing:
      return "what the process had before is not known";
    case profile::LateGrowth::By::kMemory:
      return fmt::format("the process already had {} in memory when the recording began",
                         bytes_text(late.in_use_from));
    case profile::LateGrowth::By::kInherited:
      return fmt::format("its process inherited at most {} by fork", bytes_text(late.in_use_from));
    case profile::LateGrowth::By::kChunks:
      break;
  }
  const auto amount = [&](double bytes) {
    return late.chunk == 0 ? bytes_text(bytes)
                           : present::exact_count(
                                 present::whole_number(bytes / static_cast<double>(late.chunk)));
  };
  const std::string from = amount(late.in_use_from), to = amount(late.in_use_to);
  return fmt::format("blocks of {} in use {}",
                     late.chunk == 0 ? "its sizes" : present::exact_count(late.chunk) + " bytes",
                     from == to ? "stayed " + from : fmt::format("went from {} to {}", from, to));
}

std::string false_alarm_rate(double q) { return "false-alarm rate " + present::p_value_text(q); }

std::string judged_heap(const LeaksReport& report) {
  const JudgedInstant& judged = report.judged;
  const std::string only = present::only_text(report.options.scope);
  const std::string live =
      present::figure(estimated_bytes(report.live), present::Quantity::kBytes).text() + " live" +
      (only.empty() ? "" : ", " + only);
  const std::string end =
      present::figure(estimated_bytes(report.live_at_end), present::Quantity::kBytes).text();
  switch (judged.why) {
    case JudgedInstant::Why::kBeforeTeardown:
      return fmt::format(
          "{} freed {} in its last {}. Judged before that, at {}, with {} ({} at the end): {}.",
          judged.processes > 1 ? "The process with the largest heap" : "The program",
          2 * report.live_at_end.bytes.value <= report.live.bytes.value ? "most of its heap"
                                                                        : "memory below exit()",
          present::duration(judged.before_end), present::duration(judged.after_start), live, end,
          counts_text(report));
    case JudgedInstant::Why::kGiven:
      return fmt::format("Judged at {}, with {}: {}.", report.options.until->text, live,
                         counts_text(report));
    case JudgedInstant::Why::kBeforeFinalization:
      return fmt::format(
          "Judged {}, at {}, with {}: {}. Memory alive then is not necessarily a leak.",
          present::kBeforeFinalization, present::duration(judged.after_start), live,
          counts_text(report));
    case JudgedInstant::Why::kEnd:
      break;
  }
  return fmt::format(
      "Judged at the end, {}{}, with {}: {}.{} Memory alive at the end is not "
      "necessarily a leak.",
      present::duration(judged.after_start),
      judged.quiet_from ? fmt::format(" (growth up to the last sample, at {})",
                                      present::duration(*judged.quiet_from))
                        : "",
      live, counts_text(report),
      judged.processes > 0
          ? fmt::format(" Processes ({}) that freed most of their heap before they ended are "
                        "judged before that; when each had ended, {} was live.",
                        present::exact_count(judged.processes), end)
          : "");
}

std::string leaks_footer(const LeaksReport& report, const present::Style& style) {
  std::string out = open_questions(report);
  out += present::not_looked_at(report.live.bytes.open, report.options.scope);
  const auto listed = static_cast<std::uint64_t>(
      std::ranges::count_if(report.lines, [](const LeakLine& line) { return line.is_suspect(); }));
  if (report.suspects > listed) {
    out += fmt::format("{} more suspects. --top 0 shows all.\n",
                       present::exact_count(report.suspects - listed));
  }
  for (const SuppressedLine& line : report.suppressed) {
    out +=
        fmt::format("suppressed {} from {} live: leak:{}\n",
                    present::figure(estimated_bytes(line.live), present::Quantity::kBytes).text(),
                    present::plural(line.live.samples, "sample"), present::printable(line.pattern));
  }
  out += fmt::format(
      "Suspects kept growing after the first {:.0f} % of the time, beyond what sampling and the "
      "program's own variation explain. ",
      100 * report.options.search.warm_up);
  if (report.options.until && report.options.until->is_peak) {
    out +=
        "At the peak, more of them are false than q states: heaps that only fluctuate have grown "
        "until then.\n";
  } else {
    out += fmt::format("At most {:g} % of the suspects are expected to be false positives.\n",
                       100 * report.options.search.q);
  }
  return present::paint(style, present::Role::kFaint, present::wrap_lines(out, style.width));
}

std::string sentence(const LeaksReport& report) {
  const std::string only = present::only_text(report.options.scope);
  const std::string among = only.empty() ? "" : " (" + only + ")";
  switch (report.finding()) {
    case LeakFinding::kSuspects: {
      if (report.suspects == 0) return unreachable_text(report.unreachable.front()) + ".";
      const LeakLine& line = *report.accused().front();
      const OwnerLine* const owner = report.owner_of(line);
      return fmt::format("{} kept {}, growing by {}{}; {}.", name_and_place(line), live_text(line),
                         growing_by(line), owner ? ", in " + sites_text(*owner) : "",
                         false_alarm_rate(line.site.q_value));
    }
    case LeakFinding::kUndecided:
      return undecided_sentence(report, among);
    case LeakFinding::kClear:
      if (!(report.may_grow >= 1)) {
        return fmt::format("No leak suspects{}: none of {} kept growing.", among,
                           present::plural(report.tested, "site"));
      }
      return fmt::format(
          "No leak suspects{} among {}: no significant growth; growth below {} a second may have "
          "been missed.",
          among, present::plural(report.tested, "site"), present::bound_bytes(report.may_grow));
  }
  return "";
}

}  // namespace geiger::report
