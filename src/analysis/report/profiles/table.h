// `table`: where the memory went, one row per function, stack, module, thread, ...; and what
// distinguishes stacks that look alike.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "analysis/present/format.h"
#include "analysis/present/grid.h"
#include "analysis/present/heading.h"
#include "analysis/present/measure.h"
#include "analysis/present/text.h"
#include "analysis/profile/groups/view.h"
#include "analysis/profile/memory/measured.h"
#include "analysis/profile/recording/recording.h"
#include "analysis/profile/select/profile.h"

namespace geiger::report {

// `table`: where the memory went, one row per function, stack, module, thread, ...

enum class SortBy : std::uint8_t {
  kSelf,
  kTotal,
  kSamples,
  kObjects,  ///< Estimated objects: self, which its own column shows.
  kName,
  kNatural,  ///< Sizes and lifetimes ascending, all else by name.
};

struct TableOptions {
  profile::GroupBy by = profile::GroupBy::kFunction;
  SortBy sort = SortBy::kSelf;
  std::size_t top = 30;  ///< Rows; 0 = all.
  double level = 0.95;   ///< In (0, 1).
  present::Scope scope;  ///< What part of the recording the profile is of.
  /// Which rows are shown, and counted among "more"; empty: all of them.
  std::function<bool(const profile::Row&)> shows = {};
};

/// A part of what distinguishes a stack from others whose blamed function is at the same line.
struct ContextPart {
  std::string function = {};  ///< As demangled; empty of a number.
  std::string mark = {};      ///< Before it: "› " of a callee.
  std::string place = {};     ///< Behind it: " (leaky.cc:11)".
};

/// A row that is shown. Intervals are computed for these alone, not for the thousands left out.
struct TableLine {
  std::string name, detail;
  std::uint32_t stack = profile::kNone;  ///< Of a row that stands for one.
  profile::SourceLine where;             ///< Of functions, lines and stacks, where it is known.
  present::Measure self, total;
  present::Share share;  ///< Of the profile: by total if sorted by total, else by self.
  /// Its interval overlaps that of the row below, so the two may be in the
  /// wrong order. Not set above rows without samples, nor where rows are sorted
  /// by samples or name.
  bool is_order_uncertain = false;
  std::vector<ContextPart> context = {};  ///< Of a stack that looks like another one.
};

/// The share as it is shown: nothing where the samples leave any open.
[[nodiscard]] present::Figure share_figure(const TableLine& line);

struct TableReport {
  profile::Kind kind = profile::Kind::kAllocated;
  TableOptions options;
  present::Measure total;
  bool is_split = false;  ///< A quarter of the samples chose the peak.
  std::vector<TableLine> lines;
  std::uint64_t rows = 0;     ///< Before `top`.
  std::uint64_t callers = 0;  ///< Of them, left out because they have no samples of their own.
  present::Measure others;    ///< Self of the rows left out.
  /// The exact total, where rows are calibrated to it.
  std::optional<estimation::KnownTotal> calibrated_to;
  /// Of rows that are types, where there are objects of Python.
  std::optional<profile::PythonTyping> python;
  /// Rows are parts of a total. Heaps are not: one may lie within another.
  bool has_whole = true;
  double cut = 0;           ///< Bytes of stacks that were cut, open in totals of functions.
  double unknown_type = 0;  ///< Bytes of objects of unknown type, open in all other types.
  bool has_stacks_at_limit = false;
  std::set<std::string> absent = {};  ///< present::absent_modules().
};

/// Groups, sorts, cuts to the top rows and estimates those.
/// The columns of figures of a table by `by`, for those that draw them themselves.
[[nodiscard]] std::vector<present::ColumnWords> table_columns(profile::GroupBy by);

[[nodiscard]] TableReport table_report(const profile::Recording& recording,
                                       const profile::Profile& profile,
                                       const TableOptions& options);

/// One row per heap, each selected and estimated by itself; `options.by` is kHeap.
[[nodiscard]] TableReport heaps_report(const profile::Recording& recording,
                                       const profile::Selection& selection,
                                       const TableOptions& options);

[[nodiscard]] std::string to_text(const TableReport& report, const present::Style& style);
[[nodiscard]] std::string to_json(const TableReport& report, const profile::Recording& recording);
[[nodiscard]] const present::Fields<present::InRecording<TableReport>>& fields_of(
    present::Of<present::InRecording<TableReport>> /*type*/);

// What distinguishes stacks that look alike in a table: equal functions at equal lines.

/// Sets the context of each line whose stack another one's blamed function and line are of: the
/// callers that differ; where all are the same, what the function called; where that is too, the
/// lines of the callers. Stacks that differ in addresses alone get numbers.
void distinguish_stacks(std::span<TableLine> lines, const profile::Recording& recording);

/// "… < main (leaky.cc:63)", "› string::append", "#2".
[[nodiscard]] std::string context_text(const std::vector<ContextPart>& context,
                                       const present::Style& style);

}  // namespace geiger::report
