// `geiger marks`: the instants that have names.
#include "analysis/report/profiles/marks.h"

#include <CLI/CLI.hpp>
#include <memory>

#include "analysis/present/text.h"
#include "cli/options/ending.h"
#include "cli/options/input.h"
#include "cli/options/parsed_option.h"
#include "cli/options/selection_options.h"
#include "cli/verbs/commands.h"

namespace geiger::cli {
namespace {

struct MarksArguments {
  ReadOptions read;
  report::MarksOptions marks;
};

base::Outcome<int> print_marks(MarksArguments& options) {
  const auto input = GEIGER_TRY(only_own(read_traces(options.read), "marks"));
  GEIGER_TRY(check_followed(input.recording(), "marks"));
  options.marks.level = options.read.level;
  const report::MarksReport report = report::marks_report(input.recording(), options.marks);
  if (!print(report, options.read, input.recording())) return kExitFailed;
  if (!options.read.is_json && !report.lines.empty()) {
    const std::string mark = present::as_typed("mark:" + report.lines.front().name);
    suggest("table --kind live --at " + mark, options.read.runs);
  }
  return input.exit_code();
}

}  // namespace

void register_marks(CLI::App& app, Work& work) {
  auto options = std::make_shared<MarksArguments>();
  CLI::App* verb = app.add_subcommand("marks", "List named instants, and the heap at each");
  add_read_options(*verb, options->read);
  add_number(*verb, "--top", "N", options->marks.top, "Marks to list (default 50; 0: all)");
  verb->callback([options, &work] { work = [options] { return print_marks(*options); }; });
}

}  // namespace geiger::cli
