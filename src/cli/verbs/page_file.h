// The file that a page is written to: what `report` and `fleet report` have in common.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/compare/comparison.h"
#include "analysis/page/page.h"
#include "base/outcome.h"

namespace CLI {
class App;
}

namespace geiger::cli {

/// As typed.
struct PageFile {
  std::string output;  ///< Empty: named after what it is of.
  bool replaces = false;
  bool opens = false;
};

/// -o, -f, --open. `usual` is the name of the file without -o, for the help.
void add_page_file_options(CLI::App& verb, PageFile& file, const std::string& usual);

/// The part of a name that a file name can have: "geiger-redis-server.html".
[[nodiscard]] std::string page_name(const std::string& name);

/// Fails if this build has no template of pages.
[[nodiscard]] base::Outcome<void> check_page_template();

/// Writes the page of the document that make_document() makes to `file`, else to `usual`, and says
/// what to do with it. An exit code: failed if it could not be opened in a browser. `file` is
/// looked at before the document is made.
[[nodiscard]] base::Outcome<int> write_page_file(
    const PageFile& file, const std::string& usual,
    const std::function<base::Outcome<std::string>()>& make_document);

// The comparison on a page.

/// How the runs of a page are compared: its tree first, then its tables.
inline constexpr std::array<compare::Grouping, 5> kPageGroupings{
    {{profile::GroupBy::kStack, false, true},
     {profile::GroupBy::kFunction, false, false},
     {profile::GroupBy::kFunction, true, false},
     {profile::GroupBy::kStack, false, false},
     {profile::GroupBy::kModule, false, false}}};

/// Compares what was collected for each of them.
[[nodiscard]] inline base::Outcome<page::ComparedRuns> compared_runs(
    std::vector<std::string> before, std::vector<std::string> after,
    std::vector<compare::Collected> all, double level) {
  page::ComparedRuns runs{std::move(before), std::move(after), {}, {}};
  for (compare::Collected& collected : all) {
    GEIGER_TRY(compare::check_comparable(collected, level));
    runs.tables.push_back(compare::compare(std::move(collected), level));
  }
  runs.tree = std::move(runs.tables.front());
  runs.tables.erase(runs.tables.begin());
  return runs;
}

}  // namespace geiger::cli
