// The options of verbs that select part of a recording: --kind, --from, --to, --at, the filters.
#pragma once

#include <string>

#include "query/kind_options.h"
#include "query/selection.h"

namespace CLI {
class App;
}

namespace geiger::cli {

/// --from and --to.
void add_window_options(CLI::App& verb, query::SelectionOptions& options);
/// --thread, --label, --type, --size, --pid, --function, --focus, --ignore.
void add_filter_options(CLI::App& verb, query::SelectionOptions& options);
/// --focus and --ignore of them.
void add_expression_options(CLI::App& verb, query::SelectionOptions& options);
/// --heap.
void add_heap_option(CLI::App& verb, query::SelectionOptions& options);
/// All of them, --kind and --at.
void add_selection_options(CLI::App& verb, query::SelectionOptions& options,
                           query::Kinds kinds = query::Kinds::kOfWholeObjects);

/// Fails, as a fault of usage, where a verb asks what such a recording does not tell.
void refuse_aggregated(const profile::Recording& recording, const std::string& verb);

/// subject_of(), where a failure is one of usage.
[[nodiscard]] query::Subject subject_or_refuse(const query::SelectionOptions& options,
                                               const profile::Recording& recording);

}  // namespace geiger::cli
