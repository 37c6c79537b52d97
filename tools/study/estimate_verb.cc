// `geiger-study estimate`: a calculator for the estimators.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "cli/options/exit_codes.h"
#include "cli/options/input.h"
#include "cli/options/terminal_options.h"
#include "query/sizes.h"
#include "study/calculation.h"
#include "study/composition.h"
#include "study/negative_binomial.h"
#include "study/verbs.h"
#include "terminal/terminal.h"

namespace geiger::study {
namespace {

struct EstimateArguments {
  std::vector<std::string> samples, certain, intervals;
  std::string file;
  Calculation calculation;
  bool is_json = false;
};

using Groups = std::vector<SampleGroup>;

/// Prints the reason in one line; returns the exit code to end with.
int refuse(const std::string& reason, int exit_code = cli::kExitUsage) {
  terminal::complain("estimate: " + reason);
  return exit_code;
}

int append(Groups& groups, const std::vector<std::string>& words,
           base::Outcome<SampleGroup> (*parse)(std::string_view)) {
  for (const std::string& word : words) {
    const auto group = parse(word);
    if (!group.has_value()) return refuse(group.reason());
    groups.push_back(group.value());
  }
  return cli::kExitOk;
}

int append_file(Groups& groups, const std::string& path) {
  const bool is_stdin = path == "-";
  std::error_code ignored;
  if (!is_stdin && std::filesystem::is_directory(path, ignored)) {
    return refuse(path + " is a directory", cli::kExitFailed);
  }
  std::ifstream file;
  if (!is_stdin) file.open(path);
  std::istream& input = is_stdin ? std::cin : file;
  if (!input) return refuse(fmt::format("{}: {}", path, std::strerror(errno)), cli::kExitFailed);
  const std::string text(std::istreambuf_iterator<char>(input), {});
  const auto lines = parse_sample_lines(text);
  if (!lines.has_value()) {
    return refuse(fmt::format("{}, {}", is_stdin ? "standard input" : path, lines.reason()));
  }
  groups.insert(groups.end(), lines.value().begin(), lines.value().end());
  return cli::kExitOk;
}

double rate(Bytes interval, bool is_poisson) {
  const auto bytes = static_cast<double>(interval);
  return is_poisson ? 1 / bytes : estimation::rate_of_interval(bytes);
}

int add_intervals(estimation::NodeSums& sums, const EstimateArguments& options) {
  for (const std::string& word : options.intervals) {
    const auto interval = query::parse_size(word);
    if (!interval.has_value()) return refuse(interval.reason());
    if (interval.value() == 0) return refuse("an interval must be at least 1 byte");
    sums.could_have_sampled(1 / rate(interval.value(), options.calculation.is_poisson));
  }
  return cli::kExitOk;
}

int add_groups(estimation::NodeSums& sums, const Groups& groups, bool is_poisson) {
  constexpr std::uint64_t kMostSamples = std::uint64_t{1} << 53;
  for (const SampleGroup& group : groups) {
    if (group.is_certain) {
      sums.add_certain(group.size, group.count);
    } else {
      sums.add(group.size, rate(group.interval, is_poisson), group.count);
    }
    if (sums.samples + sums.certain_samples > kMostSamples) return refuse("more than 2^53 samples");
  }
  return cli::kExitOk;
}

bool has_offset(const SampleGroup& group) { return group.offset.has_value(); }

/// Adds a group; `trials.interval` 0 stands for no group yet.
std::string add_group(FailedTrials& trials, const SampleGroup& group) {
  if (!has_offset(group)) return "give offsets for all samples or for none";
  if (group.interval == 1) return "at an interval of 1 samples have no offsets; leave them out";
  const auto interval = static_cast<double>(group.interval);
  if (trials.interval != 0 && trials.interval != interval) {
    return "samples with offsets must share one interval; leave the offsets out";
  }
  trials.interval = interval;
  const auto drawn = Drawn::make(group.size, *group.offset, interval);
  if (!drawn.has_value()) return std::string(clause(drawn.error()));
  const auto count = static_cast<double>(group.count);
  trials.untried += count * drawn.value().untried();
  trials.weights.add(count * drawn.value().weight(), count * interval * (interval - 1));
  return "";
}

/// The offsets, where samples have them: all, or the failed trials are not known, and at
/// one interval, or they have no law.
int add_offsets(Calculation& calculation, const EstimateArguments& options, const Groups& groups) {
  if (std::ranges::none_of(groups, has_offset)) return cli::kExitOk;
  if (calculation.is_poisson) return refuse("--poisson: samples have no offset in that model");
  if (!options.intervals.empty())
    return refuse("--interval: samples with offsets must share one interval");
  FailedTrials trials;
  for (const SampleGroup& group : groups) {
    if (group.is_certain) continue;
    const std::string reason = add_group(trials, group);
    if (!reason.empty()) return refuse(reason);
  }
  const auto limits = failed_trials_interval(calculation.sums.samples, trials.untried,
                                             trials.interval, calculation.level, Window::kFixed);
  if (!limits.has_value()) return refuse(std::string(clause(limits.error())));
  calculation.failed_trials = trials;
  return cli::kExitOk;
}

int read_groups(Groups& groups, const EstimateArguments& options) {
  if (const int code = append(groups, options.samples, parse_sample_group)) return code;
  if (const int code = append(groups, options.certain, parse_certain_group)) return code;
  if (options.file.empty()) return cli::kExitOk;
  return append_file(groups, options.file);
}

int print_estimate(EstimateArguments& options) {
  Groups groups;
  if (const int code = read_groups(groups, options)) return code;
  if (groups.empty() && options.intervals.empty()) {
    return refuse("no samples: give them as SIZE[+OFFSET]@INTERVAL[:COUNT], or an --interval");
  }
  Calculation& calculation = options.calculation;
  if (const int code = add_intervals(calculation.sums, options)) return code;
  if (const int code = add_groups(calculation.sums, groups, calculation.is_poisson)) return code;
  if (const int code = add_offsets(calculation, options, groups)) return code;
  const present::Style style = terminal::output_style(calculation.level);
  const bool is_printed = options.is_json
                              ? terminal::print_data(to_json(calculation))
                              : terminal::print_report(to_text(calculation, style), style);
  return is_printed ? cli::kExitOk : cli::kExitFailed;
}

void add_inputs(CLI::App& verb, EstimateArguments& options) {
  verb.add_option("SAMPLES", options.samples,
                  "Samples as SIZE[+OFFSET]@INTERVAL[:COUNT]: 16@512KiB:3 are three of 16\n"
                  "bytes. With OFFSET, the bytes before the sampled one, also estimate by\n"
                  "failed trials")
      ->type_name("");
  verb.add_option("--certain", options.certain, "Objects recorded with certainty (repeatable)")
      ->type_name("SIZE[:COUNT]")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  verb.add_option("--interval", options.intervals,
                  "An interval that was in force, even without samples (repeatable)")
      ->type_name("SIZE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  verb.add_option("--file", options.file,
                  "Samples as lines 'size,interval,count[,certain[,offset]]' or JSON objects\n"
                  "with these keys; - for standard input")
      ->type_name("FILE");
}

void add_choices(CLI::App& verb, const std::shared_ptr<EstimateArguments>& options) {
  cli::add_level_option(verb, options->calculation.level);
  verb.add_flag_callback(
      "--listed", [options] { options->calculation.form = estimation::Form::kListed; },
      "Allow for rows being shown only because they have samples, as in tables");
  verb.add_flag("--poisson", options->calculation.is_poisson,
                "Probability of no sample: e^(-SIZE/INTERVAL), as in Go and jemalloc,\n"
                "instead of (1 - 1/INTERVAL)^SIZE");
  verb.add_flag("--json", options->is_json, "Print JSON (docs/guide/json.md)");
  cli::add_terminal_options(verb);
}

}  // namespace

void register_estimate(CLI::App& app, cli::Work& work) {
  auto options = std::make_shared<EstimateArguments>();
  CLI::App* verb = app.add_subcommand("estimate", "Apply the estimators to samples you name");
  add_inputs(*verb, *options);
  add_choices(*verb, options);
  verb->footer(
      "\nExamples:\n"
      "  geiger-study estimate 16@512KiB:3 --certain 8MiB:2\n"
      "  geiger-study estimate 24+7@102400              one sample, of its 8th byte");
  verb->callback([options, &work] { work = [options] { return print_estimate(*options); }; });
}

}  // namespace geiger::study
