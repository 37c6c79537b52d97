// `geiger tree`: who called whom to allocate.
#include "analysis/report/profiles/tree.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <utility>

#include "analysis/profile/memory/measured.h"
#include "cli/options/ending.h"
#include "cli/options/input.h"
#include "cli/options/parsed_option.h"
#include "cli/options/selection_options.h"
#include "cli/verbs/commands.h"

namespace geiger::cli {
namespace {

struct TreeArguments {
  ReadOptions read;
  report::TreeOptions tree;
  query::SelectionOptions selection;
};

base::Outcome<int> print_tree(TreeArguments& options) {
  options.read.observes_running = profile::is_measured(query::kind_of(options.selection));
  options.read.reads_content = profile::is_of_content(query::kind_of(options.selection));
  const auto input = GEIGER_TRY(read_input(options.read, options.selection));
  options.tree.level = options.read.level;
  auto subject = GEIGER_TRY(subject_in(options.selection, input.recording()));
  GEIGER_TRY(check_data(input.recording(), subject.selection));
  options.tree.scope = std::move(subject.scope);
  const profile::Profile profile = profile::select(input.recording(), subject.selection);
  const report::TreeReport report = report::tree_report(input.recording(), profile, options.tree);
  if (!print(report, options.read)) return kExitFailed;
  if (!options.read.is_json) suggest("export pprof -o profile.pb.gz", options.read.runs);
  return input.exit_code();
}

}  // namespace

void register_tree(CLI::App& app, Work& work) {
  auto options = std::make_shared<TreeArguments>();
  CLI::App* verb = app.add_subcommand("tree", "The call tree, with the allocations of each branch");
  add_read_options(*verb, options->read);
  verb->add_flag("--inverted", options->tree.is_inverted, "Callees above their callers");
  add_number(*verb, "--min-percent", "P", options->tree.min_percent,
             "Omit branches with less of the total (default 1)", 0, 100);
  add_selection_options(*verb, options->selection, query::Kinds::kAll);
  add_frame_options(*verb, options->read.frames);
  verb->callback([options, &work] { work = [options] { return print_tree(*options); }; });
}

}  // namespace geiger::cli
