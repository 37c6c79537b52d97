// Functions and stacks as reports name them: short for people, both ways in JSON, and a note on
// those without names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/present/fields.h"
#include "analysis/present/grid.h"
#include "analysis/present/text.h"
#include "analysis/profile/frames/labels.h"
#include "analysis/profile/groups/view.h"
#include "analysis/profile/lives/lifetimes.h"
#include "analysis/profile/recording/recording.h"

namespace geiger::present {

// Functions as reports name them: short for people, both ways in JSON.

/// At most `columns` wide unless full names are requested.
[[nodiscard]] std::string function_text(std::string_view function, std::size_t columns,
                                        const Style& style);

/// Columns for a distinct name with its last two components whole; very long ones need no more than
/// others.
[[nodiscard]] std::size_t columns_needed(std::string_view function);

/// "a < b < c", each shown like a function.
[[nodiscard]] std::string callers_text(std::string_view callers, const Style& style);

/// Whether the rows of such a table are named by functions, or by types, which read alike.
[[nodiscard]] bool is_named_by_functions(profile::GroupBy by);

/// Of rows by lifetime: as which rows of a table they are named.
[[nodiscard]] profile::GroupBy named_like(profile::LifetimeGrouping by);

/// A cell of the column "where": the line, or the module of a function whose line is unknown, so
/// that the column is filled for every row.
[[nodiscard]] std::string where_cell(const profile::SourceLine& where, std::string_view detail,
                                     profile::GroupBy by);

/// A line whose cell to cut is `name` and whose tail is `detail`, as rows of `by` have them; where
/// the last cell says that already there is no tail, where it could say `where` that is the tail.
void add_row(Grid& grid, std::vector<std::string> cells, std::string_view name,
             std::string_view detail, profile::GroupBy by, const Style& style,
             bool is_faint = false, const profile::SourceLine& where = {});

/// A name as documents have it, inlined: "name", whole, and of functions and types "short_name".
struct Named {
  std::string_view name;
  bool is_function = true;
};
[[nodiscard]] const Fields<Named>& fields_of(Of<Named> /*type*/);

// Stacks in JSON documents.

/// A stack by its index, inlined: "stack", its frames, leaf first, and "is_truncated".
struct StackOf {
  const profile::Recording& recording;
  std::uint32_t stack;
};
[[nodiscard]] const Fields<StackOf>& fields_of(Of<StackOf> /*type*/);
/// Nothing if the recording has no such stack.
[[nodiscard]] std::optional<StackOf> stack_of(const profile::Recording& recording,
                                              std::uint32_t stack);

/// "file", "line" and, of rows of several lines, "other_lines", each where it is known.
[[nodiscard]] const Fields<profile::SourceLine>& fields_of(Of<profile::SourceLine> /*type*/);

// The note that a report shows once if some functions have only addresses, as symbols are missing.

/// "set DEBUGINFOD_URLS and run geiger symbolize --debuginfod RUN"; `run` as it is to be read, or
/// empty.
[[nodiscard]] std::string ask_debuginfod(const std::string& run);

/// The modules of functions that are called "module+0x1234". Our own library, and code without a
/// module, for which no symbols exist, are left out.
class UnnamedModules {
 public:
  /// `absent`: as of absent_modules().
  explicit UnnamedModules(std::set<std::string> absent = {}) : absent_(std::move(absent)) {}
  /// Of a function as it was demangled; one with a name changes nothing.
  void see(std::string_view function);

  /// "git has no symbols: install its -dbgsym package", or where its file can be found; empty where
  /// all functions have names.
  [[nodiscard]] std::string clause() const;
  /// clause() as a sentence that also suggests debuginfod. `run`: what to append to the command, or
  /// empty.
  [[nodiscard]] std::string sentence(const std::string& run = {}) const;
  /// sentence() in lines of `width`; empty where all functions have names.
  [[nodiscard]] std::string note(std::size_t width) const;

 private:
  std::set<std::string> absent_;
  std::set<std::string> unnamed_, missing_;  ///< Those seen; the second have no file here.
};

/// The names of modules whose files were not found here, as of a container that has ended.
[[nodiscard]] std::set<std::string> absent_modules(const profile::Recording& recording);

/// "functions of node's scripts have no names: record with geiger run --node"; empty where no stack
/// passes through code that a virtual machine compiled, or some of it has names.
[[nodiscard]] std::string compiled_code_hint(const profile::Recording& recording);

/// note() of the functions that `lines` are of, `name` of each; `absent` as of absent_modules().
template <typename Lines, typename Name>
[[nodiscard]] std::string unnamed_note(const Lines& lines, const Name& name, std::size_t width,
                                       const std::set<std::string>& absent = {}) {
  UnnamedModules unnamed(absent);
  for (const auto& line : lines) unnamed.see(std::invoke(name, line));
  return unnamed.note(width);
}

}  // namespace geiger::present
