// A profile as rows, one per stack, with every number's interval: CSV and lines of JSON.
#pragma once

#include <string>
#include <string_view>

#include "analysis/export/streams/sink.h"
#include "analysis/present/heading.h"
#include "analysis/profile/recording/recording.h"
#include "analysis/profile/select/profile.h"

namespace geiger::exports {

/// RFC 4180, with the columns
///   kind,stack,n,certain,bytes,bytes_variance,bytes_lo,bytes_hi,
///   objects,objects_variance,objects_lo,objects_hi,bytes_open,objects_open
/// and a line of their names; the last two: what open samples add to the upper limits. n: samples,
/// certain ones included. Values and variances add up; intervals do not. A cell of `stack` is
/// stack_cell()'s, made harmless by plain_cell().
void write_csv(const profile::Recording& recording, const profile::Profile& profile, double level,
               const Sink& sink);

/// Lines of JSON: first the profile with its totals, then one line per stack, frames leaf first.
void write_json_lines(const profile::Recording& recording, const profile::Profile& profile,
                      const present::Scope& scope, double level, const Sink& sink);

/// Frames joined by ';'. In a name '\' and ';' have a '\' in front, control characters are
/// \n, \r, \t or \xHH, and so are bytes that are not UTF-8: nothing is lost.
[[nodiscard]] std::string escaped_frame(std::string_view name);

/// What a spreadsheet would take for a formula, or for text by its apostrophe, gets an apostrophe
/// in front; then quoted as CSV wants it. Readers drop one apostrophe.
[[nodiscard]] std::string plain_cell(std::string_view text);

}  // namespace geiger::exports
