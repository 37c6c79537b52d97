// Two sides on a command line, and reading them: BEFORE AFTER, or BEFORE... -- AFTER...
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "analysis/compare/collector.h"
#include "base/outcome.h"
#include "query/selection.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace geiger::cli {

struct Sides {
  std::vector<std::string> before, after;
};

/// The words of the sides, into `words`, and `usage` for the help.
void add_side_options(CLI::App& verb, std::vector<std::string>& words, const std::string& usage);

/// --by function|stack|module, which is handed back, and --inclusive. Lines and types too where
/// `has_all`: lines move from build to build, so limits are not set on them.
CLI::Option* add_grouping_options(CLI::App& verb, compare::Grouping& grouping, bool has_all);

/// The sides of the words left by the parser. Without a divider two words are a side
/// each. `needs_before`: nothing before is an error; else a single word is the after
/// side.
[[nodiscard]] base::Outcome<Sides> sides_of(const std::vector<std::string>& words,
                                            bool needs_before);

/// The words that sides_of() reads as `sides`.
[[nodiscard]] std::vector<std::string> words_of(const Sides& sides);

/// What came of reading.
struct Collection {
  compare::Collected collected;
  bool is_damaged = false;  ///< Some trace; what could be read of it is in there.
};

/// Reads run after run, each forgotten when what is selected of it was added; of one run a side
/// both, to find what they have in common. Fails if one of them contains nothing to compare.
base::Outcome<Collection> collect(const Sides& sides, compare::Collector collector,
                                  const query::SelectionOptions& selection);

/// Collections of the same runs, one for each of several groupings or kinds; each run is read once.
/// Of several kinds, those that a run does not contain are left out, unless it contains none.
struct Collections {
  std::vector<compare::Collected> collected;  ///< In the order of the collectors.
  bool is_damaged = false;
};
/// `take`: is called once with the recordings of two single runs; may be empty.
using TakePair =
    std::function<void(const profile::Recording& before, const profile::Recording& after)>;
base::Outcome<Collections> collect_all(const Sides& sides,
                                       std::vector<compare::Collector> collectors,
                                       const query::SelectionOptions& selection,
                                       const TakePair& take = {});

}  // namespace geiger::cli
