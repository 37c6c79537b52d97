// Sentences that the reports of a profile share.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "analysis/present/measure.h"
#include "analysis/present/scope.h"
#include "analysis/present/style.h"
#include "analysis/profile/profile.h"

namespace geiger::present {

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
[[nodiscard]] std::string profile_footer(std::string notes, std::optional<Bytes> calibrated_to,
                                         bool is_split, const Style& style);

/// Why the peak rests on three quarters of the samples only.
[[nodiscard]] std::string split_note();

}  // namespace geiger::present
