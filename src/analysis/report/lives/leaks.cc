#include "analysis/report/lives/leaks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/present/function_names.h"
#include "analysis/present/heading.h"
#include "analysis/present/measure.h"
#include "analysis/present/text.h"
#include "analysis/profile/frames/frame_roles.h"
#include "analysis/profile/lives/leaks.h"
#include "analysis/profile/lives/teardown.h"
#include "analysis/profile/recording/cut.h"
#include "analysis/profile/select/gaps.h"
#include "analysis/profile/select/totals.h"

namespace geiger::report {

namespace {

using profile::kItsEnd;
using profile::LeakSite;
using profile::LeakVerdict;
using profile::Recording;
using profile::Teardown;

/// Growth in less than this time, and less than that share of the recording, says nothing of a
/// rate.
constexpr double kLeastSeconds = 0.1, kLeastShare = 0.1;

GrowthRate rate_of(const LeakSite& site) {
  if (!(site.seconds > 0)) return {};
  const profile::LeakGrowth& growth = site.all;
  return {growth.bytes / site.seconds,
          {growth.interval.lo / site.seconds, growth.interval.hi / site.seconds}};
}

/// Makes lines of sites.
class Lines {
 public:
  /// `unseen`: upper limit of the bytes of a site without samples.
  /// `whole`: before it was cut.
  Lines(const Recording& recording, const Recording& whole, const LeaksOptions& options,
        double unseen)
      : recording_(recording),
        whole_(whole),
        shown_(recording),
        level_(options.search.level),
        judged_share_(1 - options.search.warm_up),
        unseen_(unseen),
        ran_(static_cast<double>(profile::duration_of(recording)) / 1e9) {}

  /// How long the processes of a site that is not a suspect were seen, if that is too short for a
  /// rate; else 0.
  [[nodiscard]] Nanoseconds too_short(const LeakSite& site) const {
    const double lived = site.seconds / judged_share_;
    const bool is_short = site.seconds < kLeastSeconds && lived < kLeastShare * ran_;
    return is_short && site.verdict != LeakVerdict::kSuspect ? static_cast<Nanoseconds>(lived * 1e9)
                                                             : 0;
  }

  [[nodiscard]] LeakLine line_of(LeakSite site) {
    LeakLine line;
    line.live = present::measure_row(site.alive, level_);
    line.never_freed = present::share_of(site.alive, site.allocated, level_);
    line.rate = rate_of(site);
    line.too_short = too_short(site);
    if (site.seconds > 0) line.most_growth = std::max(site.most_leaked(), unseen_) / site.seconds;
    const Nanoseconds start = profile::start_of(recording_);
    line.since = site.judged_from - std::min(site.judged_from, start);
    line.stopped = site.stopped - std::min(site.stopped, start);
    line.held = held_parts(recording_, whole_, shown_, live_among(site.group.samples), level_);
    describe(line, site.group);
    line.site = std::move(site);
    return line;
  }

  [[nodiscard]] OwnerLine line_of(profile::LeakOwner owner) {
    OwnerLine line{line_of(std::move(owner.whole)), owner.sites, owner.accused};
    // Down to the function, wherever it recurs.
    const std::vector<std::uint32_t>& path = shown_.path();
    const auto at = std::ranges::find(path, owner.function) - path.begin();
    line.line.path.resize(path.size() - static_cast<std::size_t>(at));
    line.line.path_places.resize(line.line.path.size());
    return line;
  }

 private:
  [[nodiscard]] std::vector<std::uint32_t> live_among(
      const std::vector<std::uint32_t>& samples) const {
    std::vector<std::uint32_t> live;
    std::ranges::copy_if(samples, std::back_inserter(live),
                         [&](std::uint32_t i) { return recording_.samples[i].free_time == 0; });
    return live;
  }

  void describe(LeakLine& line, const profile::LifetimeGroup& group) {
    line.where = text_of(group.where);
    if (group.stack >= recording_.stacks.size()) return;
    shown_.of(group.stack);
    const std::vector<std::uint32_t>& path = shown_.path();
    for (std::size_t i = path.size(); i-- > 0;) {
      line.path.push_back(shown_.labels()[path[i]].name);
      line.path_places.push_back(text_of(source_line_of(recording_, shown_.frames()[i])));
    }
  }

  const Recording& recording_;
  const Recording& whole_;
  profile::ShownPath shown_;
  double level_, judged_share_, unseen_, ran_;
};

void count(LeaksReport& report, LeakVerdict verdict) {
  switch (verdict) {
    case LeakVerdict::kSuspect:
      ++report.suspects;
      return;
    case LeakVerdict::kUndecided:
      ++report.undecided;
      return;
    case LeakVerdict::kClear:
      ++report.clear;
      return;
  }
}

present::Measure all_live(const Recording& recording, const profile::LeakOptions& search,
                          profile::Kind kind = profile::Kind::kLiveAtEnd) {
  profile::Selection selection;
  selection.kind = kind;
  selection.at_own_ends = true;  // Where each process is judged.
  selection.keeps = search.keeps;
  profile::Profile live = profile::select(recording, selection);
  if (search.suppressions != nullptr && !search.suppressions->is_empty()) {
    std::unordered_map<std::uint32_t, bool> known;  // By stack.
    const auto is_suppressed = [&](const profile::Entry& entry) {
      const auto [at, is_new] = known.try_emplace(entry.stack);
      if (is_new) {
        at->second = search.suppressions->match(recording, entry.stack) != profile::kNone;
      }
      return at->second;
    };
    std::erase_if(live.entries, is_suppressed);
    std::erase_if(live.open, is_suppressed);
  }
  return present::measure_total(recording, live, search.level);
}

/// Where each process is judged, and what of that is worth saying.
struct Judged {
  JudgedInstant instant;
  std::vector<Nanoseconds> until;  ///< By process, CLOCK_MONOTONIC; kItsEnd: its end.
};

/// Since the start, when the final frees of a large process began that `is_hiding` accepts.
template <typename IsHiding>
std::optional<Nanoseconds> freed_from(const Recording& recording,
                                      const std::vector<Teardown>& teardowns,
                                      const IsHiding& is_hiding) {
  const Teardown* const largest = profile::largest_of(teardowns);
  std::optional<Nanoseconds> from;
  for (const Teardown& teardown : teardowns) {
    const bool is_large = teardown.live >= largest->live / 2;
    if (!is_large || teardown.kind == Teardown::Kind::kNotFound || !is_hiding(teardown)) continue;
    const Nanoseconds after_start = teardown.from - profile::start_of(recording);
    from = from ? std::min(*from, after_start) : after_start;
  }
  return from;
}

Judged judged_at(const Recording& recording, const GivenInstant& given,
                 const std::vector<Teardown>& teardowns) {
  Judged judged;
  const Nanoseconds start = profile::start_of(recording);
  const Nanoseconds end = start + profile::duration_of(recording);
  judged.instant.why = JudgedInstant::Why::kGiven;
  judged.until.resize(recording.processes.size(), given.is_end ? kItsEnd : given.time + 1);
  const Nanoseconds at = given.is_end ? end : given.time;
  judged.instant.after_start = at - std::min(at, start);
  judged.instant.before_end = end - std::min(end, at);
  judged.instant.freed_from = freed_from(
      recording, teardowns, [&](const Teardown& teardown) { return teardown.from <= at; });
  return judged;
}

Judged judged_before_teardown(const Recording& recording, const std::vector<Teardown>& teardowns) {
  Judged judged;
  judged.until = profile::judged_before(teardowns);
  judged.instant.processes =
      static_cast<std::size_t>(std::ranges::count_if(teardowns, &Teardown::is_found));
  const Teardown* largest = profile::largest_of(teardowns);
  judged.instant.after_start = profile::duration_of(recording);
  if (largest == nullptr) return judged;
  judged.instant.freed_from = freed_from(
      recording, teardowns, [](const Teardown& teardown) { return !teardown.is_found(); });
  if (!largest->is_found()) return judged;
  judged.instant.why = largest->kind == Teardown::Kind::kFinalization
                           ? JudgedInstant::Why::kBeforeFinalization
                           : JudgedInstant::Why::kBeforeTeardown;
  judged.instant.after_start = largest->from - profile::start_of(recording);
  judged.instant.before_end = largest->end - largest->from;
  return judged;
}

/// Of what is searched.
std::vector<HeldSite> unreachable_sites(const Recording& recording, const LeaksOptions& options) {
  HoldersOptions wanted;
  wanted.top = 0;
  wanted.level = options.search.level;
  wanted.keeps = options.search.keeps;
  wanted.suppressions = options.search.suppressions;
  auto report = holders_report(recording, wanted);
  std::vector<HeldSite> found;
  if (!report.has_value()) return found;
  for (HeldSite& site : report->sites) {
    std::erase_if(site.parts, [](const HeldPart& part) {
      return !profile::is_unreachable(part.hold) || part.live.bytes.interval.lo <= 0;
    });
    if (!site.parts.empty()) found.push_back(std::move(site));
  }
  std::ranges::stable_sort(found, std::ranges::greater{}, [](const HeldSite& site) {
    return site.parts.front().live.bytes.value;
  });
  return found;
}

/// `whole`: before it was cut.
void list(LeaksReport& report, profile::Leaks&& leaks, const Recording& recording,
          const Recording& whole) {
  const LeaksOptions& options = report.options;
  Lines lines(recording, whole, options, leaks.unseen);
  report.unreachable = unreachable_sites(whole, options);
  report.tested = report.judged_sites = leaks.tested;
  report.samples_needed = leaks.samples_needed;
  report.may_have_leaked = leaks.may_have_leaked;
  report.can_be_clear = leaks.can_be_clear();
  report.growing = std::move(leaks.growing);
  for (const profile::Observations& observations : recording.observations) {
    if (report.walk_fault.empty()) report.walk_fault = observations.walk_fault;
  }
  for (const profile::SuppressedLeaks& suppressed : leaks.suppressed) {
    report.suppressed.push_back({options.search.suppressions->pattern(suppressed.pattern),
                                 present::measure_row(suppressed.live, options.search.level)});
  }
  const std::size_t room = options.top == 0 ? SIZE_MAX : options.top;
  for (profile::LeakOwner& owner : leaks.owners) {
    if (report.owners.size() < room) report.owners.push_back(lines.line_of(std::move(owner)));
  }
  // An undecided owner is a sentence, not a row.
  auto shown = static_cast<std::size_t>(
      std::ranges::count(report.owners, LeakVerdict::kSuspect,
                         [](const OwnerLine& owner) { return owner.line.site.verdict; }));
  for (LeakSite& site : leaks.sites) {
    const bool is_short = site.verdict == LeakVerdict::kClear && lines.too_short(site) > 0;
    // What an accused owner explains is a suspect, whatever it is alone.
    if (site.owner != profile::kNone) {
      ++report.suspects;
      report.judged_sites += !site.is_tested;
    } else if (is_short) {
      ++report.not_judged;
    } else {
      count(report, site.verdict);
    }
    if (site.verdict == LeakVerdict::kClear && site.seconds > 0 && !is_short) {
      report.may_grow = std::max(report.may_grow, site.most_leaked() / site.seconds);
    }
    if (site.stopped != 0) report.stopped.push_back(lines.line_of(site));
    const bool is_owned = site.owner < report.owners.size();
    const bool is_listed = site.verdict != LeakVerdict::kClear || options.shows_all;
    if (!is_owned && (!is_listed || shown == room)) continue;
    shown += is_owned ? 0 : 1;
    report.lines.push_back(lines.line_of(std::move(site)));
  }
  std::ranges::stable_sort(report.stopped, std::ranges::greater{},
                           [](const LeakLine& line) { return line.live.bytes.value; });
  const bool is_growing = leaks.small && leaks.small->verdict == LeakVerdict::kSuspect;
  if (is_growing) report.small = lines.line_of(*std::move(leaks.small));
}

std::string missing_samples(const Recording& recording) {
  for (const profile::Gap& gap : profile::gaps_of(recording)) {
    if (gap.hides_growth()) return gap.why;
  }
  return "";
}

LeaksReport report_of(const Recording& recording, const Recording& whole,
                      const LeaksOptions& options, const JudgedInstant& judged) {
  LeaksReport report;
  report.options = options;
  report.absent = present::absent_modules(recording);
  report.judged = judged;
  report.live = all_live(recording, options.search);
  list(report, profile::find_leaks(recording, options.search), recording, whole);
  return report;
}

}  // namespace

LeakFinding LeaksReport::finding() const {
  if (suspects > 0 || !unreachable.empty()) return LeakFinding::kSuspects;
  const bool is_hidden = !owners.empty() || small.has_value() || judged.freed_from.has_value() ||
                         !missing.empty() || !growing.empty() || !can_be_clear;
  if (undecided > 0 || tested == 0 || is_hidden) return LeakFinding::kUndecided;
  return LeakFinding::kClear;
}

std::vector<const LeakLine*> LeaksReport::accused() const {
  std::vector<const LeakLine*> all;
  const auto add = [&](const LeakLine& line) {
    if (line.site.verdict == LeakVerdict::kSuspect) all.push_back(&line);
  };
  for (const OwnerLine& owner : owners) add(owner.line);
  for (const LeakLine& line : lines) {
    if (line.site.owner == profile::kNone) add(line);
  }
  std::ranges::stable_sort(all, std::ranges::greater{},
                           [](const LeakLine* line) { return line->site.all.bytes; });
  return all;
}

const OwnerLine* LeaksReport::owner_of(const LeakLine& line) const {
  const auto owner =
      std::ranges::find(owners, &line, [](const OwnerLine& each) { return &each.line; });
  return owner == owners.end() ? nullptr : &*owner;
}

LeaksReport leaks_report(const Recording& recording, const LeaksOptions& options) {
  std::vector<Teardown> own;
  if (options.teardowns == nullptr) own = profile::find_teardowns(recording);
  const std::vector<Teardown>& teardowns = options.teardowns ? *options.teardowns : own;
  const Judged judged = options.until ? judged_at(recording, *options.until, teardowns)
                                      : judged_before_teardown(recording, teardowns);
  LeaksOptions judging = options;
  judging.search.ran_until = ran_until(recording, judged.until);
  const bool is_cut = std::ranges::any_of(judged.until, [](auto at) { return at != kItsEnd; });
  LeaksReport report;
  if (is_cut) {
    Recording earlier = recording;
    cut_at(earlier, judged.until);
    report = report_of(earlier, recording, judging, judged.instant);
    report.live_at_end = all_live(recording, options.search);
  } else {
    report = report_of(recording, recording, judging, judged.instant);
    report.live_at_end = report.live;
  }
  // As other reports measure it: the instant was chosen by a part of the samples.
  if (options.until && options.until->is_peak)
    report.live = all_live(recording, options.search, profile::Kind::kLiveAtPeak);
  // Of the whole: what a cut left out is not missing.
  report.missing = missing_samples(recording);
  return report;
}

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
  return fmt::format("{} kept {} of its allocations while {}", name_and_place(line),
                     present::figure(line.live.bytes, present::Quantity::kBytes).text(),
                     in_use_text(*line.site.late));
}

bool is_late(Open open) {
  return open == Open::kTurnover || open == Open::kChunks || open == Open::kUnmeasured;
}

/// The sites that something leaves undecided, as a list of names; empty: none. With `growing` only
/// those of chunks of that size.
std::string undecided_names(const LeaksReport& report, Open open, Bytes growing = 0) {
  // Sites are stacks: those of one line are named once.
  std::vector<std::pair<std::string, std::size_t>> lines;
  for (const LeakLine& line : report.lines) {
    if (line.site.open != open || line.site.owner != profile::kNone) continue;
    if (growing != 0 && line.site.late->growing != growing) continue;
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
  return " If a tenth of it leaked, it would probably have been found; a longer run shows less.";
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
          return chunks.chunk == line.site.late->growing;
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

std::string undecided_chunks(const LeaksReport& report) {
  std::string out;
  for (std::size_t i = 0; i < std::min(report.growing.size(), kUndecidedShown); ++i) {
    const profile::GrowingChunks& chunks = report.growing[i];
    const std::string names = undecided_names(report, Open::kChunks, chunks.chunk);
    out += fmt::format("Undecided: {} ({}), {}. A longer run or a smaller --interval decides.\n",
                       growing_text(chunks), false_alarm_rate(chunks.q_value),
                       names.empty() ? "and no site has samples enough to be named"
                                     : "at one or more of these sites: " + names);
  }
  if (report.growing.size() > kUndecidedShown) {
    out += fmt::format("Blocks of {} more sizes grew; --json lists them.\n",
                       report.growing.size() - kUndecidedShown);
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
      present::figure(report.live.bytes, present::Quantity::kBytes).text());
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
  return fmt::format("{} in {}", present::figure(line.live.bytes, present::Quantity::kBytes).text(),
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
  const present::Figure rate = present::change_figure(
      chunks.bytes / chunks.seconds,
      {chunks.interval.lo / chunks.seconds, chunks.interval.hi / chunks.seconds});
  return fmt::format("blocks of {} bytes in use grew by {} a second",
                     present::exact_count(chunks.chunk), present::without_plus(rate));
}

std::string in_use_text(const profile::LateGrowth& late) {
  switch (late.by) {
    case profile::LateGrowth::By::kNothing:
      return "what the process had before is not known";
    case profile::LateGrowth::By::kMemory:
      return fmt::format("{} was in memory when the recording began", bytes_text(late.in_use_from));
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
  const std::string live = present::figure(report.live.bytes, present::Quantity::kBytes).text() +
                           " live" + (only.empty() ? "" : ", " + only);
  const std::string end =
      present::figure(report.live_at_end.bytes, present::Quantity::kBytes).text();
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
      "Judged at the end, {}, with {}: {}.{} Memory alive at the end is not "
      "necessarily a leak.",
      present::duration(judged.after_start), live, counts_text(report),
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
                    present::figure(line.live.bytes, present::Quantity::kBytes).text(),
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
