// What part of a recording a report is about, in words and for machines.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/present/asked_inside.h"
#include "analysis/present/coverage.h"
#include "analysis/present/fields.h"
#include "analysis/present/read_at.h"
#include "analysis/profile/groups/view.h"
#include "analysis/profile/profile.h"
#include "base/units.h"

namespace geiger::present {

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
[[nodiscard]] std::string end_text(const profile::Recording& recording,
                                   const profile::Selection& selection);

/// "allocated", or when it was live, or from when to when: what `kind` means here.
[[nodiscard]] std::string text_of(const Scope& scope, profile::Kind kind);

/// "only thread io-1, label tenant=acme"; empty where nothing is left out.
[[nodiscard]] std::string only_text(const Scope& scope);

/// The fields "by_mincore", "snapshot", "fleet" and "selection", each where there is one.
[[nodiscard]] const Fields<Scope>& fields_of(Of<Scope> /*type*/);

}  // namespace geiger::present
