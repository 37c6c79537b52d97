// `leaks`: sites that keep growing, with the evidence, and the sentences about them.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/present/format.h"
#include "analysis/present/heading.h"
#include "analysis/present/measure.h"
#include "analysis/present/text.h"
#include "analysis/profile/lives/leaks.h"
#include "analysis/profile/lives/teardown.h"
#include "analysis/profile/recording/recording.h"
#include "analysis/report/holders/holders.h"

namespace geiger::report {

// `leaks`: sites that keep growing, with the evidence, where the heap was before the program
// tidied up.

/// The requested instant, instead of the one before the final frees.
struct GivenInstant {
  Nanoseconds time = 0;  ///< CLOCK_MONOTONIC.
  std::string text;      ///< "95% (9.5 s)".
  bool is_end = false;   ///< The end of each process, whatever it freed before.
  bool is_peak = false;  ///< Chosen for what is live there: whatever varies grew up to it.
};

struct LeaksOptions {
  profile::LeakOptions search;  ///< Its `ran_until` is set by the report.
  present::Scope scope;         ///< What its `keeps` leaves over, in words.
  std::optional<GivenInstant> until;
  std::size_t top = 20;    ///< Suspects listed; 0 = all.
  bool shows_all = false;  ///< Also sites that are not suspects.
  /// As of profile::Selection.
  const std::vector<profile::Teardown>* teardowns = nullptr;
};

/// Growth of a site, as bytes per second of its processes.
struct GrowthRate {
  double value = 0;
  estimation::Interval interval;
};

struct LeakLine {
  profile::LeakSite site;
  std::string where;                     ///< "leaky.cc:11" of the named function; empty: not known.
  std::vector<std::string> path;         ///< Functions from the outermost to the named one.
  std::vector<std::string> path_places;  ///< Beside them: "main.cc:7"; empty: not known.
  Nanoseconds since = 0;    ///< After the recording's start: what came before is warm-up.
  Nanoseconds stopped = 0;  ///< After the start, as of profile::LeakSite; 0: not such a site.
  present::Measure live;
  present::Share never_freed;  ///< Of what it allocated.
  GrowthRate rate;
  /// Of a site that is not a suspect: how long its processes were seen in all, if that is too short
  /// for a rate; else 0. Such a site is not judged unless it is undecided.
  Nanoseconds too_short = 0;
  double most_growth = 0;  ///< Upper limit of what it leaked, in bytes a second.
  /// If that was looked for: what holds its live objects, and what is unreachable of them.
  std::vector<HeldPart> held;

  /// Alone, or because an accused owner explains it.
  [[nodiscard]] bool is_suspect() const {
    return site.verdict == profile::LeakVerdict::kSuspect || site.owner != profile::kNone;
  }
};

/// A function in place of the sites that it explains (profile::LeakOwner).
struct OwnerLine {
  LeakLine line;  ///< Of all that is below it; its path ends at the function.
  std::uint64_t sites = 0, accused = 0;
};

struct SuppressedLine {
  std::string pattern;
  present::Measure live;
};

/// Which heap was judged, and why that one.
struct JudgedInstant {
  enum class Why : std::uint8_t {
    kEnd,                 ///< Of the process that held most: no final frees of it were found.
    kBeforeTeardown,      ///< Before that process freed most of what was live, and ended.
    kGiven,               ///< Requested.
    kBeforeFinalization,  ///< When the interpreter of that process began to finalize.
  };
  Why why = Why::kEnd;
  /// Since the recording's start, in the process that held most then; of kEnd the end of it.
  Nanoseconds after_start = 0;
  Nanoseconds before_end = 0;  ///< How long that process went on.
  std::size_t processes = 0;   ///< Judged before their final frees; there may be others.
  /// Since the recording's start: from then on most of what was live was freed, and next to
  /// nothing allocated, before the judged instant. Nothing: no such frees.
  std::optional<Nanoseconds> freed_from;
  /// Since the recording's start: when the only process allocated last, where it then went on for a
  /// while. Rates of growth are up to that.
  std::optional<Nanoseconds> quiet_from;
};

/// Sites with unreachable memory that the text names.
inline constexpr std::size_t kUnreachableNamed = 5;

/// Unreachable memory of the other sites.
struct UnreachableRest {
  std::uint64_t sites = 0;
  present::Measure live;  ///< Of them all.
};

/// The conclusion of the whole report.
enum class LeakFinding : std::uint8_t { kSuspects, kUndecided, kClear };

struct LeaksReport {
  LeaksOptions options;
  JudgedInstant judged;
  present::Measure live;         ///< All that is searched, at the judged instant.
  present::Measure live_at_end;  ///< All that is searched, at the end.
  /// Accused ones, then those of which sites grow together and it is not known which; each by
  /// growth. LeakSite::owner of the lines is an index into these.
  std::vector<OwnerLine> owners;
  /// Suspects, undecided and those of an owner; with shows_all every site.
  std::vector<LeakLine> lines;
  std::vector<LeakLine> stopped;  ///< Large sites that stopped growing.
  /// Sites of which memory surely was unreachable when what holds it was looked for, whatever they
  /// grow by: the unreachable parts of each, the largest first.
  std::vector<HeldSite> unreachable;
  UnreachableRest unreachable_rest;
  present::Measure listed;  ///< What only CPython's collector lists; no samples: nothing known.
  /// Those of owners are suspects; `not_judged` is as of LeakLine::too_short.
  std::uint64_t suspects = 0, undecided = 0, clear = 0, not_judged = 0;
  std::uint64_t tested = 0;
  std::uint64_t judged_sites = 0;  ///< Tested, or explained by an owner.
  /// The largest upper limit of what a clear site leaked, in bytes a second: a leak below it may be
  /// there and was not found.
  double may_grow = 0;
  /// Bytes, and whether they are few enough for an all-clear: as of profile::Leaks.
  double may_have_leaked = 0;
  bool can_be_clear = false;
  std::uint64_t samples_needed = 0;
  std::vector<SuppressedLine> suppressed;
  std::vector<profile::GrowingChunks> growing;  ///< As of profile::Leaks.
  std::string walk_fault;  ///< Why chunks in use could not be counted; empty: not known to fail.
  /// Sites with fewer samples than that, as one, if they grow together.
  std::optional<LeakLine> small;
  /// Why samples are missing, a clause: "3 samples were dropped"; empty: none are known to be.
  std::string missing;
  std::set<std::string> absent;  ///< present::absent_modules().

  /// kSuspects also of unreachable memory. Never kClear where a leak may be hidden: with undecided
  /// sites, sites that only grow together, chunks that grow and belong to no suspect, nothing
  /// tested, missing samples, a heap that had been freed, or too few samples to notice growth that
  /// matters.
  [[nodiscard]] LeakFinding finding() const;

  /// What is accused: owners, and the suspects that none explains; by growth. Lines of this report.
  [[nodiscard]] std::vector<const LeakLine*> accused() const;
  /// The owner whose line it is; null of a site.
  [[nodiscard]] const OwnerLine* owner_of(const LeakLine& line) const;
};

[[nodiscard]] LeaksReport leaks_report(const profile::Recording& recording,
                                       const LeaksOptions& options);

/// The first sentence of the report: "Cache::get (cache.cc:26) kept 738 MiB ± 12 in 1.2 M ± 0.1 M
/// objects, growing by 105 MiB ± 9 a second, in 10 sites; false-alarm rate 7e-06."
[[nodiscard]] std::string sentence(const LeaksReport& report);

[[nodiscard]] std::string to_text(const LeaksReport& report, const present::Style& style);
[[nodiscard]] std::string to_json(const LeaksReport& report, const profile::Recording& recording);
/// What that document is made of.
[[nodiscard]] const present::Fields<present::InRecording<LeaksReport>>& fields_of(
    present::Of<present::InRecording<LeaksReport>> /*type*/);

/// "suspect", "undecided", "clear"; as far as its site alone goes.
[[nodiscard]] std::string_view name_of(profile::LeakVerdict verdict);
/// "samples", "slowing", "alone", "turnover", "chunks", "unmeasured"; empty of nothing.
[[nodiscard]] std::string_view name_of(profile::Open open);
/// "nothing", "memory", "chunks".
[[nodiscard]] std::string_view name_of(profile::LateGrowth::By by);
/// "suspects", "undecided", "clear".
[[nodiscard]] std::string_view name_of(LeakFinding finding);
/// "end", "before_teardown", "given", "before_finalization".
[[nodiscard]] std::string_view name_of(JudgedInstant::Why why);

/// "18.3 MiB ± 1.1 of lose (srv.cc:19) is unreachable: nothing points to it": its largest part.
[[nodiscard]] std::string unreachable_text(const HeldSite& site);
/// Sentences on the first sites with unreachable memory, on the others, and on what only CPython's
/// collector can free.
[[nodiscard]] std::vector<std::string> unreachable_sentences(const LeaksReport& report);
/// "93 % ± 3 held by g_sessions through block (64 B)": the largest parts of what is live.
[[nodiscard]] std::vector<std::string> holders_texts(const LeakLine& line);

// The sentences of `leaks`: what was judged, what was found, and what is left open.

/// "Store::open (store.cc:8)".
[[nodiscard]] std::string name_and_place(const LeakLine& line);
/// "at least 4.1 MiB", "at most 4.1 MiB": of a second, where only that is known; else empty.
[[nodiscard]] std::string growth_limit(const LeakLine& line);
/// "+4.8 MiB ± 1.3 a second", "at least 4.1 MiB a second".
[[nodiscard]] std::string growth_rate(const LeakLine& line);
/// "blocks of 2,064 bytes in use grew by 52 KiB ± 3 a second".
[[nodiscard]] std::string growing_text(const profile::GrowingChunks& chunks);
/// Of a site with objects from before the recording: "blocks of 2,064 bytes in use went from 40,000
/// to 41,200", or what its process already had in memory when the recording began.
[[nodiscard]] std::string in_use_text(const profile::LateGrowth& late);
/// "738 MiB ± 12 in 1.2 M ± 0.1 M objects".
[[nodiscard]] std::string live_text(const LeakLine& line);
/// "10 sites", "10 of 12 sites".
[[nodiscard]] std::string sites_text(const OwnerLine& owner);
/// "1 of 9 sites suspect, 2 undecided".
[[nodiscard]] std::string counts_text(const LeaksReport& report);
/// "Not suspect: Table::load (table.cc:5) with 300 MiB ± 8 in 4.0 M objects, stopped growing at 12
/// s."
[[nodiscard]] std::string stopped_sentence(const LeakLine& line);
/// "false-alarm rate 7e-06".
[[nodiscard]] std::string false_alarm_rate(double q);

/// Which heap was judged, and the verdicts in figures.
[[nodiscard]] std::string judged_heap(const LeaksReport& report);

/// What keeps a leak from being seen, what is not listed, and what a suspect is.
[[nodiscard]] std::string leaks_footer(const LeaksReport& report, const present::Style& style);

}  // namespace geiger::report
