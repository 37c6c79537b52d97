// `geiger advise`: what to change in a program, and what that saves.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <string>

#include "analysis/report/advice/advice.h"
#include "cli/options/ending.h"
#include "cli/options/input.h"
#include "cli/options/parsed_option.h"
#include "cli/options/selection_options.h"
#include "cli/options/stored_allocators.h"
#include "cli/verbs/commands.h"
#include "query/words.h"
#include "run/malloc_pairs.h"

namespace geiger::cli {
namespace {

struct AdviseArguments {
  ReadOptions read;
  advice::Options search;
  std::size_t top = 20;
  bool leaves_out_times = false;
  std::string times_file;  ///< Of the process that times an allocator.
};

base::Outcome<int> print_advice(AdviseArguments& options) {
  if (!options.times_file.empty()) {
    GEIGER_TRY(run::write_pair_times(options.times_file));
    return kExitOk;
  }
  const auto input = GEIGER_TRY(only_own(read_input(options.read), "advise"));
  options.search.level = options.read.level;
  report::AdviceReport report = report::advice_report(input.recording(), options.search);
  report.top = options.top;
  report.allocators = stored_allocators(input, options.search);
  const bool saves_calls = std::ranges::any_of(report.findings.items, [](const auto& item) {
    return rules_of(item.advice).of == advice::Of::kAllocated;
  });
  if (saves_calls && !options.leaves_out_times)
    report.pairs = run::time_pairs(main_process(input.recording()).allocator);
  return print(report, options.read) ? input.exit_code() : kExitFailed;
}

}  // namespace

void register_advise(CLI::App& app, Work& work) {
  auto options = std::make_shared<AdviseArguments>();
  CLI::App* verb = app.add_subcommand("advise", "What to change in the program, and what it saves");
  add_read_options(*verb, options->read);
  add_frame_options(*verb, options->read.frames);
  add_share(
      *verb, "--least",
      "Name savings that surely are at least this share of the total,\nand 1 MiB (default 5%)", 1,
      [options](double share) { options->search.least_share = share; });
  add_number(*verb, "--top", "N", options->top, "Places to show (default 20; 0: all)");
  verb->add_flag("--no-times", options->leaves_out_times,
                 "Do not time malloc and free on this machine");
  verb->add_option("--time-pairs", options->times_file)->group("");
  verb->footer(
      "\nRecord with --free-stacks, so that growth by copying is found in small blocks\n"
      "too (docs/guide/advice.md). All intervals of the list hold together at the level of\n"
      "--ci, so that they are wider than those of other reports. After geiger\n"
      "compare-malloc of the program, its result is part of the list.");
  verb->callback([options, &work] { work = [options] { return print_advice(*options); }; });
}

}  // namespace geiger::cli
