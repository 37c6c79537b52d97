// `geiger-study simulate`: which intervals hold.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "cli/help/command_line.h"
#include "cli/options/ending.h"
#include "cli/options/input.h"
#include "cli/options/output.h"
#include "research/coverage_report.h"
#include "research/parallel.h"
#include "research/verbs.h"
#include "terminal/progress.h"
#include "terminal/terminal.h"

namespace geiger::research {
namespace {

constexpr std::uint64_t kMostReplicates = 10'000'000;
constexpr std::size_t kMostJobs = 1024;

struct SimulateArguments {
  CoverageReport report;
  std::vector<std::string> mixes;  ///< None: all.
  bool has_patterns = false;
  std::size_t jobs = 0;  ///< 0: one for each processor.
  cli::PictureOptions picture;
  bool is_json = false;
};

std::map<std::string, Mix> mixes_by_name() {
  std::map<std::string, Mix> mixes;
  for (std::size_t i = 0; i < kMixes; ++i) {
    mixes.emplace(name_of(static_cast<Mix>(i)), static_cast<Mix>(i));
  }
  return mixes;
}

/// Rows with empty cells, in the order of the enumeration.
void lay_out(SimulateArguments& options) {
  CoverageReport& report = options.report;
  report.samples = {0.5, 1, 2, 3, 5, 10, 30, 100, 1000};
  const bool has_all = options.mixes.empty() && !options.has_patterns;
  for (std::size_t i = 0; i < kMixes; ++i) {
    const auto mix = static_cast<Mix>(i);
    const bool is_asked =
        has_all || std::ranges::find(options.mixes, name_of(mix)) != options.mixes.end();
    if (is_asked) report.mixes.push_back({mix, std::vector<CellTally>(report.samples.size())});
  }
  for (std::size_t i = 0; i < kPatterns && (has_all || options.has_patterns); ++i) {
    report.patterns.push_back(
        {static_cast<Pattern>(i), std::vector<PatternTally>(report.samples.size())});
  }
}

std::size_t jobs_of(const SimulateArguments& options) {
  if (options.jobs > 0) return options.jobs;
  return std::max(1U, std::thread::hardware_concurrency());
}

/// The tallies of all blocks of all cells of `rows`: block by block, cell by cell.
template <typename Row>
auto tallies_of(const std::vector<Row>& rows, std::size_t cells_of_row, std::size_t blocks) {
  using Tally = typename decltype(Row::cells)::value_type;
  return std::vector<Tally>(rows.size() * cells_of_row * blocks);
}

template <typename Row, typename Tally>
void merge(std::vector<Row>& rows, const std::vector<Tally>& tallies, std::size_t blocks) {
  for (std::size_t item = 0; item < tallies.size(); ++item) {
    const std::size_t cell = item / blocks;
    const std::size_t cells_of_row = rows.front().cells.size();
    Tally& sum = rows[cell / cells_of_row].cells[cell % cells_of_row];
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i].merge(tallies[item][i]);
  }
}

/// Blocks are simulated in any order and merged in theirs.
void simulate(SimulateArguments& options) {
  CoverageReport& report = options.report;
  const std::size_t blocks = blocks_of(report.settings);
  const std::size_t cells = report.samples.size();
  auto of_mixes = tallies_of(report.mixes, cells, blocks);
  auto of_patterns = tallies_of(report.patterns, cells, blocks);
  const auto worker = [&] {
    return [&, book = IntervalBook(report.settings.level)](std::size_t item) mutable {
      const std::size_t place = item < of_mixes.size() ? item : item - of_mixes.size();
      const std::size_t row = place / blocks / cells;
      const double samples = report.samples[place / blocks % cells];
      const std::size_t block = place % blocks;
      if (item < of_mixes.size()) {
        of_mixes[place] =
            simulate_block(report.settings, {report.mixes[row].mix, samples}, block, book);
      } else {
        of_patterns[place] =
            simulate_pattern(report.settings, report.patterns[row].pattern, samples, block);
      }
    };
  };
  const std::size_t items = of_mixes.size() + of_patterns.size();
  terminal::Progress progress("simulating");
  work_in_parallel(items, jobs_of(options), worker,
                   [&](std::size_t done) { progress.update(done, items); });
  merge(report.mixes, of_mixes, blocks);
  merge(report.patterns, of_patterns, blocks);
}

base::Outcome<int> run_simulation(SimulateArguments& options) {
  const auto writable = cli::may_write(options.picture);
  if (!writable.has_value()) return writable.failure();
  lay_out(options);
  simulate(options);
  const auto written = cli::write_picture(options.picture, [&] { return to_svg(options.report); });
  if (!written.has_value()) return written.failure();
  const present::Style style = terminal::output_style(options.report.settings.level);
  const bool is_printed = options.is_json
                              ? terminal::print_data(to_json(options.report))
                              : terminal::print_report(to_text(options.report, style), style);
  return is_printed ? cli::kExitOk : cli::kExitFailed;
}

}  // namespace

void register_simulate(CLI::App& app, cli::Work& work) {
  auto options = std::make_shared<SimulateArguments>();
  CLI::App* verb = app.add_subcommand("simulate", "Test every kind of interval on known sites");
  TableSettings& settings = options->report.settings;
  cli::add_report_options(*verb, settings.level, options->is_json);
  verb->add_option("--seed", settings.seed, "Seed of the random numbers (default 1)")
      ->type_name("N");
  verb->add_option("--replicates", settings.replicates, "Replicates of each cell (default 2,000)")
      ->check(CLI::Range(std::uint64_t{1}, kMostReplicates))
      ->type_name("N");
  verb->add_option("--jobs", options->jobs,
                   "Threads (default: all processors); does not affect the figures")
      ->check(CLI::Range(std::size_t{1}, kMostJobs))
      ->type_name("N");
  std::vector<std::string> names;
  for (const auto& [name, mix] : mixes_by_name()) names.push_back(name);
  verb->add_option("--mix", options->mixes,
                   "Use only these sizes: const16, lognormal, power, huge,\n"
                   "halves, constT, const2T, const3T (default: all)")
      ->check(cli::one_of(names))
      ->delimiter(',')
      ->type_name("NAME,...");
  verb->add_flag("--patterns", options->has_patterns,
                 "Only (with --mix: also) sample patterns of allocations at a\n"
                 "fixed and a jittered stride instead of at random");
  verb->add_flag("--certain", settings.has_certain,
                 "Record objects of at least T with certainty, as recordings do");
  verb->add_flag("--widths", options->report.has_widths, "Also print mean widths");
  cli::add_picture_options(*verb, options->picture);
  verb->footer(
      "\nMakes sites of known bytes, samples them, and counts how often each kind of\n"
      "interval contains the truth. Then samples patterns of allocations at a fixed\n"
      "stride, a jittered one, and at random. docs/internals/estimators.md describes the methods,\n"
      "mixes and patterns.\n"
      "\nExamples:\n"
      "  geiger-study simulate\n"
      "  geiger-study simulate --patterns\n"
      "  geiger-study simulate --mix const16,huge --replicates 20000 --svg coverage.svg");
  verb->callback([options, &work] { work = [options] { return run_simulation(*options); }; });
}

}  // namespace geiger::research
