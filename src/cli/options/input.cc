#include "cli/options/input.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

#include "analysis/content/content.h"
#include "analysis/holders/holders.h"
#include "analysis/import/import.h"
#include "analysis/ingest/observation_chunk.h"
#include "analysis/ingest/traces.h"
#include "analysis/observe/observer.h"
#include "analysis/profile/frames/wrappers.h"
#include "analysis/profile/memory/measured.h"
#include "analysis/profile/recording/cut.h"
#include "analysis/symbolize/symbolize.h"
#include "analysis/symbolize/types/infer_types.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/options/ending.h"
#include "cli/options/parsed_option.h"
#include "cli/options/terminal_options.h"
#include "control/run_directory.h"
#include "query/selection.h"
#include "terminal/progress.h"
#include "terminal/terminal.h"

namespace geiger::cli {

namespace {

constexpr std::size_t kWarningsSaid = 3;
constexpr std::size_t kHintsSaid = 2;

/// The first lines, and how many more there are.
std::vector<std::string> first_lines(std::vector<std::string> lines, std::size_t most) {
  if (lines.size() <= most) return lines;
  const std::size_t more = lines.size() - most;
  lines.resize(most);
  lines.push_back(fmt::format("and {} more messages like these", more));
  return lines;
}

void say_lines(const std::vector<std::string>& lines) {
  for (const std::string& line : lines) terminal::complain(line);
}

void apply_stored_symbols(ingest::Ingested& ingested) {
  for (const ingest::SymbolPayload& stored : ingested.symbols) {
    const auto named = symbolize::apply_symbols(stored.bytes, stored.process, ingested.recording);
    if (named.has_value()) continue;
    ingested.recording.warnings.push_back(
        fmt::format("{}: the stored symbols cannot be read",
                    ingested.recording.processes[stored.process].trace_path));
    ingested.damaged = true;
  }
}

/// A file of `geiger run -o FILE` is written when the program has ended.
base::Outcome<void> check_written(const std::vector<std::string>& runs) {
  std::error_code error;
  for (const std::string& run : runs) {
    const std::string parts = control::parts_of(run);
    if (std::filesystem::exists(run, error) || !std::filesystem::is_directory(parts, error))
      continue;
    return base::Failure{fmt::format(
        "{} is written when the program ends; until then its traces are in {}", run, parts)};
  }
  return {};
}

base::Outcome<Input> read_runs(const std::vector<std::string>& runs, const ReadOptions& options) {
  ingest::Options reading;
  reading.includes_finalization = options.includes_finalization;
  bool is_in_core = false;
  if (options.core != nullptr) {
    reading.observe_image = [&](const ingest::InputFile& file, const ingest::Image& image) {
      const terminal::Progress scanning("scanning the core file");
      const auto found = holders::find_holders(*options.core, file, image, *options.holders);
      is_in_core |= found.has_value();
      return found ? ingest::encode_observations(*found) : "";
    };
  } else if (options.holders) {
    reading.observe = [&options](const std::string& trace, std::uint32_t pid) {
      terminal::Progress scanning("scanning memory");
      holders::Options scans = *options.holders;
      scans.progress = [&](unsigned done, unsigned most) { scanning.update(done, most); };
      return ingest::encode_observations(
          holders::find_holders(static_cast<pid_t>(pid), trace, scans));
    };
  } else if (options.observes_running || options.infers_types) {
    reading.observe = [&](const std::string& trace, std::uint32_t pid) {
      const auto process = static_cast<pid_t>(pid);
      auto found = observe::observe_now(process, trace, options.observes_running);
      if (options.reads_content) profile::append(found, content::read_content(process, trace));
      return ingest::encode_observations(found);
    };
  }
  terminal::Progress progress("reading", " MiB");
  reading.progress = [&](std::uint64_t done, std::uint64_t total) {
    progress.update(done / kMiB, total / kMiB);
  };
  Input input{ingest::read_recording(runs, reading), "", {}};
  if (options.core != nullptr && !is_in_core) {
    return base::Failure{fmt::format(
        "{}: the core file of process {}, of which {} has no recording at the time of the file",
        options.core->path(), options.core->pid(), fmt::join(runs, ", "))};
  }
  apply_stored_symbols(input.ingested);
  return input;
}

void symbolize_here(profile::Recording& recording) {
  terminal::Progress progress("looking up names");
  symbolize::Options options;
  options.progress = [&](std::size_t done, std::size_t total) { progress.update(done, total); };
  const symbolize::Outcome outcome = symbolize::symbolize(recording, options);
  say_lines(first_lines(outcome.hints, kHintsSaid));
}

void infer_types_here(profile::Recording& recording) {
  terminal::Progress progress("looking for types");
  symbolize::Options options;
  options.progress = [&](std::size_t done, std::size_t total) { progress.update(done, total); };
  symbolize::infer_types(recording, options);
}

}  // namespace

base::Outcome<std::vector<std::string>> named_or_newest(const std::vector<std::string>& runs) {
  if (!runs.empty()) return runs;
  if (auto newest = ingest::newest_run(".")) {
    if (newest->starts_with("./")) newest->erase(0, 2);
    return std::vector{*newest};
  }
  return base::Failure{"no run found here: name one, or record one with 'geiger run -- PROGRAM'"};
}

int Input::exit_code() const { return ingested.damaged ? kExitFailed : kExitOk; }

std::vector<std::string> Input::said() const {
  if (ingested.damaged) return recording().warnings;
  std::vector<std::string> lines;
  for (const ingest::Unbegun& unbegun : ingested.unbegun) lines.push_back(unbegun.text());
  return lines;
}

std::optional<double> parse_level(const std::string& text) {
  const bool has_percent = text.ends_with('%');
  const std::string_view digits(text.data(), text.size() - (has_percent ? 1 : 0));
  auto level = base::number_in<double>(digits, std::chars_format::fixed);
  // Without the sign, "95" can only be meant in percent, "1.5" may be anything.
  constexpr double kLeastPercent = 50;
  if (level && (has_percent || *level >= kLeastPercent)) *level /= 100;
  return level && *level > 0 && *level < 1 ? level : std::nullopt;
}

void add_read_options(CLI::App& verb, ReadOptions& options, bool has_report) {
  verb.add_option("RUN", options.runs,
                  "Run directories or trace files (default: the newest here),\nor profiles from "
                  "pprof, jemalloc, gperftools, heaptrack")
      ->type_name("");
  if (!has_report) return;
  verb.add_flag("--finalization", options.includes_finalization,
                "Python: go on to the exit of the process (default: end where its\ninterpreter "
                "begins to free modules and objects)");
  add_report_options(verb, options.level, options.is_json);
  add_names_option(verb);
}

void add_level_option(CLI::App& verb, double& level) {
  const auto parse = [](const std::string& text) -> base::Outcome<double> {
    if (const auto parsed = parse_level(text)) return *parsed;
    return base::Failure{"invalid confidence level '" + text + "' (example: 95%)"};
  };
  add_parsed(verb, "--ci,--level", "LEVEL", "Confidence level of the intervals (default 95%)",
             parse, [&level](double parsed) { level = parsed; });
}

void add_report_options(CLI::App& verb, double& level, bool& is_json) {
  add_level_option(verb, level);
  verb.add_flag("--json", is_json, "Print JSON (docs/guide/json.md)");
  add_terminal_options(verb);
}

void add_moment_option(CLI::App& verb, profile::Moment& moment) {
  add_choice(verb, "--at", "MOMENT",
             "maximum: when RSS was largest (default); last: shortly before the end",
             Choices<profile::Moment>{{"maximum", profile::Moment::kMaximum},
                                      {"last", profile::Moment::kLast}},
             [&moment](profile::Moment chosen) { moment = chosen; });
}

base::Outcome<void> check_data(const profile::Recording& recording,
                               const profile::Selection& selection) {
  return profile::check_kind(recording, selection.kind, selection.moment)
      .with_prefix(fmt::format("{} is not available: ", profile::name_of(selection.kind)));
}

base::Outcome<Input> read_traces(const ReadOptions& options) {
  const std::vector<std::string> runs = GEIGER_TRY(named_or_newest(options.runs));
  GEIGER_TRY(check_written(runs));
  const std::size_t foreign = count_foreign(runs);
  if (foreign > 0 && foreign < runs.size()) {
    return base::Failure{
        "traces and profiles of other programs cannot be read together: name one kind only"};
  }
  for (const std::string& run : runs) {
    if (std::string refusal = imports::refusal_of(run); !refusal.empty()) {
      return base::Failure{std::move(refusal)};
    }
  }
  Input input = foreign > 0 ? read_foreign(runs) : GEIGER_TRY(read_runs(runs, options));
  if (runs.size() == 1) input.shown = runs.front();
  std::vector<std::string> lines = first_lines(input.said(), kWarningsSaid);
  if (!input.recording().processes.empty()) {
    say_lines(lines);
    return input;
  }
  // Where nothing can be read, the last of the lines is the reason.
  if (!input.ingested.damaged || lines.empty())
    lines.emplace_back("nothing was recorded in this run");
  const std::string reason = std::move(lines.back());
  lines.pop_back();
  say_lines(lines);
  return base::Failure{reason};
}

base::Outcome<void> name_frames(profile::Recording& recording, const query::FrameOptions& options) {
  std::vector<std::string> remarks;
  auto rules = query::frame_rules_of(options, remarks);
  // Of several recordings they are the same: of one file in the working directory.
  static std::set<std::string> said;
  std::erase_if(remarks, [](const std::string& remark) { return !said.insert(remark).second; });
  say_lines(remarks);
  recording.frame_rules = GEIGER_TRY(std::move(rules).failing_as(base::Fault::kUsage));
  if (!recording.is_symbolized) symbolize_here(recording);
  profile::trim(recording, symbolize::leading_runtime_frames);
  profile::find_wrappers(std::array{&recording});
  return {};
}

base::Outcome<Input> read_input(const ReadOptions& options) {
  auto input = GEIGER_TRY(read_traces(options));
  profile::Recording& recording = input.ingested.recording;
  GEIGER_TRY(name_frames(recording, options.frames));
  if (options.infers_types && input.origins.empty()) infer_types_here(recording);
  return input;
}

base::Outcome<Input> read_input(ReadOptions options, const query::SelectionOptions& selection) {
  options.infers_types |= !selection.type.empty();
  return read_input(options);
}

std::size_t count_foreign(const std::vector<std::string>& runs) {
  return static_cast<std::size_t>(std::ranges::count_if(
      runs, [](const std::string& run) { return imports::format_of(run).has_value(); }));
}

Input read_foreign(const std::vector<std::string>& runs) {
  terminal::Progress progress("reading", " MiB");
  imports::Imported imported = imports::read_files(
      runs,
      [&](std::uint64_t done, std::uint64_t all) { progress.update(done / kMiB, all / kMiB); });
  Input input;
  input.ingested.recording = std::move(imported.recording);
  input.ingested.damaged = !imported.errors.empty();
  input.origins = std::move(imported.origins);
  return input;
}

std::vector<std::string> lines_of(const std::vector<imports::Origin>& origins) {
  std::vector<std::string> lines;
  for (const imports::Origin& origin : origins) {
    lines.push_back(origin.path + ": " + origin.what);
    lines.insert(lines.end(), origin.notes.begin(), origin.notes.end());
  }
  return lines;
}

base::Outcome<Input> only_own(base::Outcome<Input> input, const char* verb) {
  if (!input.has_value() || input->origins.empty()) return input;
  const imports::Origin& first = input->origins.front();
  return base::Failure{
      fmt::format("{}: {}; '{}' needs a recording made by geiger", first.path, first.what, verb)};
}

}  // namespace geiger::cli
