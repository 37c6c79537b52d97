// Where names are looked up: what `symbolize` and `fleet symbolize` have in common.
#pragma once

#include <string>
#include <vector>

#include "analysis/profile/recording/recording.h"
#include "analysis/symbolize/symbolize.h"
#include "base/outcome.h"

namespace CLI {
class App;
}

namespace geiger::cli {

struct SymbolOptions {
  bool use_debuginfod = false;
  std::vector<std::string> debug_dirs;  ///< As typed.
};

/// --debuginfod, --debug-dir.
void add_symbol_options(CLI::App& verb, SymbolOptions& options);

/// Looks up the names of a recording; of all locations if `refreshes`, else of those without.
/// Prints what would help to find more. Fails if servers are to be asked, and none are known.
[[nodiscard]] base::Outcome<symbolize::Outcome> look_up_names(profile::Recording& recording,
                                                              const SymbolOptions& options,
                                                              bool refreshes);

}  // namespace geiger::cli
