// `geiger simulate`: which intervals hold.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "analysis/report/coverage_report.h"
#include "cli/choice.h"
#include "cli/commands.h"
#include "cli/input.h"
#include "cli/parallel.h"
#include "cli/picture.h"
#include "cli/progress.h"
#include "cli/terminal.h"

namespace geiger::cli {
namespace {

using estimation::Mix;

constexpr std::uint64_t kMostReplicates = 10'000'000;
constexpr std::size_t kMostJobs = 1024;

struct Options {
  report::CoverageReport report;
  std::vector<std::string> mixes;  ///< None: all.
  std::size_t jobs = 0;            ///< 0: one for each processor.
  PictureOptions picture;
  bool is_json = false;
};

std::map<std::string, Mix> mixes_by_name() {
  std::map<std::string, Mix> mixes;
  for (std::size_t i = 0; i < estimation::kMixes; ++i) {
    mixes.emplace(name_of(static_cast<Mix>(i)), static_cast<Mix>(i));
  }
  return mixes;
}

/// Rows with empty cells, in the order of the enumeration.
void lay_out(Options& options) {
  report::CoverageReport& report = options.report;
  report.samples = {0.5, 1, 2, 3, 5, 10, 30, 100, 1000};
  for (std::size_t i = 0; i < estimation::kMixes; ++i) {
    const auto mix = static_cast<Mix>(i);
    const bool is_asked = options.mixes.empty() ||
                          std::ranges::find(options.mixes, name_of(mix)) != options.mixes.end();
    if (is_asked)
      report.mixes.push_back({mix, std::vector<estimation::CellTally>(report.samples.size())});
  }
}

std::size_t jobs_of(const Options& options) {
  if (options.jobs > 0) return options.jobs;
  return std::max(1U, std::thread::hardware_concurrency());
}

/// Blocks are simulated in any order and merged in theirs.
void simulate(Options& options) {
  report::CoverageReport& report = options.report;
  const std::size_t blocks = estimation::blocks_of(report.settings);
  const std::size_t cells = report.mixes.size() * report.samples.size();
  std::vector<estimation::CellTally> tallies(cells * blocks);
  const auto worker = [&] {
    return [&, book = estimation::IntervalBook(report.settings.level)](std::size_t item) mutable {
      const std::size_t cell = item / blocks;
      tallies[item] = estimation::simulate_block(report.settings,
                                                 {report.mixes[cell / report.samples.size()].mix,
                                                  report.samples[cell % report.samples.size()]},
                                                 item % blocks, book);
    };
  };
  Progress progress("simulating");
  work_in_parallel(tallies.size(), jobs_of(options), worker,
                   [&](std::size_t done) { progress.update(done, tallies.size()); });
  for (std::size_t item = 0; item < tallies.size(); ++item) {
    const std::size_t cell = item / blocks;
    estimation::CellTally& sum =
        report.mixes[cell / report.samples.size()].cells[cell % report.samples.size()];
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i].merge(tallies[item][i]);
  }
}

int run_simulation(Options& options) {
  if (!may_write(options.picture)) return kExitFailed;
  lay_out(options);
  simulate(options);
  if (!write_picture(options.picture, [&] { return to_svg(options.report); })) return kExitFailed;
  const report::Style style = output_style(options.report.settings.level);
  const bool is_printed = options.is_json ? print_data(to_json(options.report))
                                          : print_report(to_text(options.report, style), style);
  return is_printed ? kExitOk : kExitFailed;
}

}  // namespace

void register_simulate(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand("simulate", "Try every kind of interval on known sites");
  estimation::TableSettings& settings = options->report.settings;
  add_report_options(*verb, settings.level, options->is_json);
  verb->add_option("--seed", settings.seed, "Draw these numbers (default 1)")->type_name("N");
  verb->add_option("--replicates", settings.replicates, "Of each cell (default 2,000)")
      ->check(CLI::Range(std::uint64_t{1}, kMostReplicates))
      ->type_name("N");
  verb->add_option("--jobs", options->jobs, "Threads (default: all processors); changes no figure")
      ->check(CLI::Range(std::size_t{1}, kMostJobs))
      ->type_name("N");
  std::vector<std::string> names;
  for (const auto& [name, mix] : mixes_by_name()) names.push_back(name);
  verb->add_option("--mix", options->mixes,
                   "Only these sizes: const16, lognormal, power, huge,\n"
                   "halves, constT, const2T, const3T (default: all)")
      ->check(one_of(names))
      ->delimiter(',')
      ->type_name("NAME,...");
  verb->add_flag("--certain", settings.has_certain,
                 "Objects of T and more are certain, as in recordings");
  verb->add_flag("--widths", options->report.has_widths, "Print mean widths too");
  add_picture_options(*verb, options->picture);
  verb->footer(
      "\nMakes sites of known bytes, samples them, and counts how often each kind of interval\n"
      "contains the truth. docs/estimators.md says what the methods and mixes are.\n"
      "\nExamples:\n"
      "  geiger simulate\n"
      "  geiger simulate --mix const16,huge --replicates 20000 --svg coverage.svg");
  verb->callback([options, &exit_code] { exit_code = run_simulation(*options); });
}

}  // namespace geiger::cli
