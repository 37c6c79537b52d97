// Headings of reports: which part of the recording they are of, when it was read, what processes
// answered themselves.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/present/coverage.h"
#include "analysis/present/fields.h"
#include "analysis/present/measure.h"
#include "analysis/present/text.h"
#include "analysis/profile/groups/view.h"
#include "analysis/profile/select/profile.h"
#include "base/units.h"

namespace geiger::present {

// Residency answers from inside processes, for reports of resident bytes where pages could not be
// read from outside.

/// All processes that were queried from inside, summed up.
struct AskedInside {
  std::uint64_t processes = 0;
  Nanoseconds first = 0, last = 0;  ///< When they were queried, after the start of the recording.
  std::uint64_t answered = 0;       ///< Samples, of those that were live then.
  std::uint64_t unanswered = 0;     ///< The others: upper limits take all of their bytes.
};

/// Nothing if `kind` is not about resident bytes, or all pages were read from outside.
[[nodiscard]] std::optional<AskedInside> asked_inside(const profile::Recording& recording,
                                                      profile::Kind kind, profile::Moment moment);

/// "by mincore, asked inside the process at 3.2 s", and how many had no answer if any.
[[nodiscard]] std::string text_of(const AskedInside& asked);

[[nodiscard]] const Fields<AskedInside>& fields_of(Of<AskedInside> /*type*/);

// When the memory of processes was read, for profiles made from such snapshots.

/// The snapshots that a profile is made of, all together.
struct ReadAt {
  std::uint64_t processes = 0;
  Nanoseconds first = 0, last = 0;  ///< After the start of the recording.
  profile::Moment moment = profile::Moment::kMaximum;
};

/// What kinds of contents leave open.
inline constexpr std::string_view kUnknownContent =
    "objects whose content could not be read, or compared with all others (swapped out, freed or "
    "changed meanwhile)";

/// Nothing where no memory was read from outside.
[[nodiscard]] std::optional<ReadAt> read_at(const profile::Recording& recording, profile::Kind kind,
                                            profile::Moment moment);

/// "9.55 s after the start, at the largest RSS reading".
[[nodiscard]] std::string text_of(const ReadAt& read);

[[nodiscard]] const Fields<ReadAt>& fields_of(Of<ReadAt> /*type*/);

// What part of a recording a report is about, in words and for machines.

[[nodiscard]] std::vector<std::string_view> names_of(Of<profile::Kind> /*type*/);
[[nodiscard]] std::vector<std::string_view> names_of(Of<profile::GroupBy> /*type*/);

/// Empty: everything of its kind.
struct Scope {
  /// "allocated from 1.2 s to mark 'warm' (3.4 s)", "live at 50 % (1.7 s)"; empty: the words
  /// of the kind (profile::kind_text).
  std::string when;
  /// "when the last of 3 processes ended": which end, where that is not the end of all of them.
  std::string end;
  /// Instants of the selection, after the start of the recording.
  std::optional<Nanoseconds> from, to, at;
  bool is_split = false;  ///< A quarter of the samples chose one of the instants.
  /// As requested: {"thread", "io-1"}, {"label", "tenant=acme"}.
  std::vector<std::pair<std::string, std::string>> only;
  /// The samples that filters cannot decide about, in words: "stacks that were cut".
  std::vector<std::string> open;
  std::string lacks;                 ///< profile::missing_part().
  std::optional<AskedInside> asked;  ///< Of resident bytes that could not be read from outside.
  std::optional<ReadAt> read;        ///< Of what was read from outside.
  std::vector<Coverage> fleet;       ///< Of each side of it; empty: no fleet.

  [[nodiscard]] bool is_part() const { return !when.empty() || !only.empty(); }
};

/// Scope::end of a selection.
inline constexpr std::string_view kBeforeFinalization = "before the interpreter finalized";
[[nodiscard]] std::string end_text(const profile::Recording& recording,
                                   const profile::Selection& selection);

/// "allocated", or when it was live, or from when to when: what `kind` means here.
[[nodiscard]] std::string text_of(const Scope& scope, profile::Kind kind);

/// "only thread io-1, label tenant=acme"; empty where nothing is left out.
[[nodiscard]] std::string only_text(const Scope& scope);

/// The fields "by_mincore", "snapshot", "fleet" and "selection", each where there is one.
[[nodiscard]] const Fields<Scope>& fields_of(Of<Scope> /*type*/);

// Sentences that the reports of a profile share.

/// "allocated bytes", "bytes live at the end", "bytes live at mark:warm; only thread io-1".
[[nodiscard]] std::string bytes_of(const Scope& scope, profile::Kind kind);

/// What a profile's entries count, as the heading of a column: "samples"; "ranges" of
/// mappings.
[[nodiscard]] std::string_view count_heading(profile::Kind kind);

/// First lines of a text report: kind or scope, view, total, samples, level; then `notes`, which
/// end their lines.
[[nodiscard]] std::string profile_heading(profile::Kind kind, std::string_view view,
                                          const Measure& total, const Style& style,
                                          const Scope& scope = {}, std::string_view notes = {});

/// The samples that filters cannot decide about, and why; empty if there are none.
[[nodiscard]] std::string open_text(const Measure& total, const Scope& scope,
                                    std::string_view where = "in upper limits only");

/// A sentence that figures are of a part only; `lacks`: profile::missing_part(). Empty for all.
[[nodiscard]] std::string incomplete_text(const std::string& lacks);

/// A line for reports of what filters surely select: of how many bytes they cannot tell, and why;
/// empty for none.
[[nodiscard]] std::string not_looked_at(double bytes, const Scope& scope);

/// What keeps such stacks open: "stacks that were cut", with the option that follows more frames if
/// the limit of frames cut any of them (profile::has_stacks_at_limit).
[[nodiscard]] std::string cut_stacks(bool is_at_limit);

/// That this many bytes of them are in the upper limits of all totals; empty for none.
[[nodiscard]] std::string cut_note(double bytes, bool is_at_limit);

/// Instead of rows, when nothing was sampled.
[[nodiscard]] std::string nothing_sampled(profile::Kind kind, const Scope& scope = {});

/// Last lines of a text report: `notes`, which end their lines, and why rows differ from
/// what their samples alone would say. Empty where there is nothing to note.
[[nodiscard]] std::string profile_footer(std::string notes,
                                         std::optional<estimation::KnownTotal> calibrated_to,
                                         bool is_split, const Style& style);

/// Why the peak rests on three quarters of the samples only.
[[nodiscard]] std::string split_note();

}  // namespace geiger::present
