// `geiger compare-malloc`: which allocator suits a program.
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "analysis/ingest/ingest.h"
#include "analysis/present/text.h"
#include "analysis/report/allocators/allocators.h"
#include "cli/help/help_formatter.h"
#include "cli/options/ending.h"
#include "cli/options/input.h"
#include "cli/options/parsed_option.h"
#include "cli/options/run_options.h"
#include "cli/options/scratch.h"
#include "cli/options/stored_allocators.h"
#include "cli/verbs/commands.h"
#include "modules/module.h"
#include "run/allocator_library.h"
#include "run/environment.h"
#include "run/launch.h"
#include "run/target_check.h"
#include "terminal/progress.h"
#include "terminal/terminal.h"

namespace geiger::cli {
namespace {

namespace fs = std::filesystem;

struct CompareArguments {
  std::vector<std::string> program;
  std::vector<std::string> wanted;  ///< For find_allocator(); empty: all that are installed.
  std::size_t rounds = 5;
  double level = 0.95;
  bool is_json = false;
  bool shows_output = false;
};

std::string ending_text(int status) {
  return WIFSIGNALED(status) ? fmt::format("signal {}", WTERMSIG(status))
                             : fmt::format("exit code {}", WEXITSTATUS(status));
}

class Comparison {
 public:
  explicit Comparison(const CompareArguments& options) : options_(options) {}

  base::Outcome<int> perform();

 private:
  /// One allocator, with the environment that puts it into place.
  struct Side {
    report::AllocatorRuns runs;
    run::Environment environment;
    int status = 0;  ///< Of the first run.
  };

  base::Outcome<void> choose_sides();
  void add_side(const run::AllocatorLibrary& library);
  base::Outcome<void> try_all(std::size_t round);
  void record(Side& side);
  void update() { progress_.update(++done_, sides_.size() * (options_.rounds + 1)); }

  const CompareArguments& options_;
  std::vector<Side> sides_;  ///< The program's own allocator first.
  terminal::Progress progress_{"comparing", " runs"};
  std::size_t done_ = 0;
  report::ComparedProgram compared_;
};

void Comparison::add_side(const run::AllocatorLibrary& library) {
  Side& side = sides_.emplace_back();
  side.runs.name = library.name;
  side.runs.version = library.version;
  side.runs.path = library.path;
  side.environment = run::with_preload(sides_.front().environment, library.preload_word());
}

base::Outcome<void> Comparison::choose_sides() {
  const run::TargetCheck target = run::check_target(options_.program.front());
  if (target.obstacle != run::Obstacle::kNone) return base::Failure{target.sentence()};
  sides_.emplace_back().environment = run::without_runtime(run::own_environment());
  if (options_.wanted.empty()) {
    for (const run::AllocatorLibrary& library : run::installed_allocators()) add_side(library);
    if (sides_.size() > 1) return {};
    return base::Failure{
        "no other allocator is installed (Debian: libmimalloc2.0, libjemalloc2, "
        "libtcmalloc-minimal4)"};
  }
  for (const std::string& wanted : options_.wanted) {
    const auto library =
        GEIGER_TRY(run::find_allocator(wanted).failing_as(base::Fault::kRequest, "--allocators: "));
    const auto is_same = [&](const Side& side) { return side.runs.path == library.path; };
    if (std::ranges::none_of(sides_, is_same)) add_side(library);
  }
  return {};
}

/// One run under each, beginning with another one each round, because the first run may find cold
/// caches.
base::Outcome<void> Comparison::try_all(std::size_t round) {
  for (std::size_t i = 0; i < sides_.size(); ++i) {
    // In the first round the program's own is first: the others have to end as it does.
    Side& side = sides_[(round + i) % sides_.size()];
    if (!side.runs.fault.empty()) continue;
    const auto trial =
        GEIGER_TRY(run::run_trial(options_.program, side.environment, options_.shows_output));
    update();
    if (round == 0) side.status = trial.status;
    if (trial.status != sides_.front().status) {
      side.runs.trials.clear();
      side.runs.fault = fmt::format("ended with {}, not with {}", ending_text(trial.status),
                                    ending_text(sides_.front().status));
      if (&side == &sides_.front()) {
        return base::Failure{"the program does not end the same way each time: it " +
                             side.runs.fault};
      }
      continue;
    }
    side.runs.trials.push_back({.cpu = trial.cpu, .peak = trial.peak});
  }
  return {};
}

/// Records one run, for the facts that the kernel does not have; if it fails they are unknown.
void Comparison::record(Side& side) {
  const Scratch scratch;
  if (scratch.path().empty()) return;
  const std::string file = scratch.path() / "run.geiger";
  std::vector<std::string> words{modules::own_program(), "run", "-q", "--no-symbolize",
                                 "--fragmentation",      "-o",  file};
  if (!side.runs.path.empty()) words.push_back("--malloc=" + side.runs.path);
  words.emplace_back("--");
  words.insert(words.end(), options_.program.begin(), options_.program.end());
  const auto trial = run::run_trial(words, sides_.front().environment, false);
  if (!trial.has_value()) return;
  const std::string files[] = {file};
  const ingest::Ingested read = ingest::read_recording(files);
  if (read.recording.processes.empty()) return;
  side.runs.memory = report::allocator_memory(read.recording, options_.level);
  if (!side.runs.path.empty()) return;
  compared_ = report::compared_program(read.recording);
  const fs::path own = read.recording.processes.front().allocator;
  side.runs.name = own.filename();
  for (Side& other : sides_) {
    std::error_code error;
    other.runs.is_own_too = !other.runs.path.empty() && fs::equivalent(own, other.runs.path, error);
  }
}

/// For `geiger advise`. Without it the report is the same.
void store_for_advice(const report::StoredComparison& comparison) {
  const auto stored = store_comparison(comparison);
  terminal::complain(stored.has_value()
                         ? fmt::format("wrote {}, which geiger advise reads", stored.value())
                         : "not stored for geiger advise: " + stored.reason());
}

base::Outcome<int> Comparison::perform() {
  GEIGER_TRY(choose_sides());
  for (std::size_t round = 0; round < options_.rounds; ++round) GEIGER_TRY(try_all(round));
  for (Side& side : sides_) {
    if (side.runs.fault.empty()) record(side);
    update();
  }
  report::StoredComparison comparison{.of = compared_};
  for (Side& side : sides_) comparison.runs.push_back(std::move(side.runs));
  for (const std::string& word : options_.program) {
    comparison.command += (comparison.command.empty() ? "" : " ") + present::as_typed(word);
  }
  store_for_advice(comparison);
  report::AllocatorsReport report =
      report::allocators_report(std::move(comparison.runs), options_.level);
  report.program = std::move(comparison.command);
  const int status = sides_.front().status;
  if (status != 0) report.ending = ending_text(status);
  return print(report, options_) ? kExitOk : kExitFailed;
}

}  // namespace

void register_compare_malloc(CLI::App& app, Work& work) {
  auto options = std::make_shared<CompareArguments>();
  CLI::App* verb = app.add_subcommand("compare-malloc", "Which allocator suits a program");
  verb->formatter(std::make_shared<UsageFormatter>(
      "geiger compare-malloc [options] [--] PROGRAM [ARGUMENTS...]\n"));
  verb->add_option("--allocators", options->wanted,
                   "Allocators to compare with the program's own (default: all\n"
                   "of mimalloc, jemalloc and tcmalloc that are installed)")
      ->type_name("NAME|PATH,...")
      ->delimiter(',')
      ->allow_extra_args(false);
  add_number(*verb, "--rounds", "N", options->rounds,
             "Runs under each allocator (default 5; a verdict needs 3)", 1, 1000);
  verb->add_flag("--show-output", options->shows_output,
                 "Let the program write to the terminal; its input is\nempty either way");
  add_report_options(*verb, options->level, options->is_json);
  add_program_words(*verb, options->program)->required();
  verb->footer(
      "\nRuns PROGRAM without geiger under each allocator in turn, and compares\n"
      "processor time and peak memory; one more run under each is recorded, to measure\n"
      "the memory that the allocator keeps. The program must end by itself\n"
      "(docs/guide/allocators.md). The result is also written to geiger-PROGRAM.allocators\n"
      "in the current directory, for geiger advise.\n"
      "\nExamples:\n"
      "  geiger compare-malloc -- ./bench --small\n"
      "  geiger compare-malloc --rounds 20 --allocators mimalloc -- python3 job.py");
  verb->callback([options, &work] { work = [options] { return Comparison(*options).perform(); }; });
}

}  // namespace geiger::cli
