// The options of verbs that select part of a recording: --kind, --from, --to, --at, the filters.
#pragma once

#include <string>

#include "analysis/page/page_data.h"
#include "analysis/report/profiles/table.h"
#include "query/selection.h"

namespace CLI {
class App;
}

namespace geiger::cli {

// The options --plumbing (or --no-plumbing), --frames, --hide and --rules.

void add_frame_options(CLI::App& verb, query::FrameOptions& options);
/// The frame options of a verb that shows all frames by default.
void add_all_frames_options(CLI::App& verb, query::FrameOptions& options);

// --plumbing and --hide of verbs that make a page: the page's initial settings.

/// Several expressions become one that matches what any of them does.
[[nodiscard]] page::Preset preset_of(const query::FrameOptions& options);

/// --sort of tables; `sort` outlives the verb.
void add_sort_option(CLI::App& verb, report::SortBy& sort);

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

/// Fails where objects are grouped by what holds them, and no scan for that is stored.
base::Outcome<void> check_holders(const profile::Recording& recording, profile::GroupBy by);

/// Fails where a verb or an option needs samples that were followed to their frees, and a process
/// of the recording only counted them.
base::Outcome<void> check_followed(const profile::Recording& recording, const std::string& what);

/// query::subject_of(), where failures are of usage. Prints its remarks.
base::Outcome<query::Subject> subject_in(const query::SelectionOptions& options,
                                         const profile::Recording& recording);

}  // namespace geiger::cli
