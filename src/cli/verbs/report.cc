// `geiger report`: everything that a run tells, as one HTML file.
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "analysis/compare/comparison.h"
#include "analysis/page/html.h"
#include "analysis/page/page.h"
#include "analysis/present/format.h"
#include "analysis/report/overview/summary_facts.h"
#include "cli/help/choice.h"
#include "cli/options/input.h"
#include "cli/options/output.h"
#include "cli/options/page_preset.h"
#include "cli/options/selection_options.h"
#include "cli/options/sides.h"
#include "cli/verbs/commands.h"
#include "live/template_file.h"
#include "query/text_file.h"
#include "terminal/progress.h"
#include "terminal/terminal.h"

namespace geiger::cli {
namespace {

constexpr const char* kReportTemplate = "report.html";

struct ReportArguments {
  ReadOptions read;
  query::SelectionOptions selection;
  std::string output;  ///< Empty: named after the program.
  bool replaces = false;
  bool opens = false;
  bool has_source = false;
  std::vector<std::string> before;  ///< Runs to compare with; none: nothing is compared.
};

/// "geiger-redis-server.html": of a program's name what can stand in a file's name.
std::string default_output(const profile::Recording& recording) {
  constexpr std::size_t kMostBytes = 100;
  std::string name;
  for (const char c : report::program_text(recording).substr(0, kMostBytes)) {
    const bool is_plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' ||
                          c == '_' || c == '-' || c == '+';
    name += is_plain ? c : '_';
  }
  return fmt::format("geiger-{}.html", name.empty() ? "report" : name);
}

base::Outcome<page::PageOptions> page_options(const ReportArguments& options,
                                              const profile::Recording& recording) {
  page::PageOptions page;
  query::SelectionOptions selection = options.selection;
  selection.kind.reset();  // Every one.
  auto subject = subject_in(selection, recording);
  if (!subject.has_value()) return subject.failure();
  page.level = options.read.level;
  page.version = GEIGER_VERSION;
  page.selection = std::move(subject->selection);
  page.scope = std::move(subject->scope);
  page.preset = preset_of(options.read.frames);
  return page;
}

/// The comparison that --diff asks for.
base::Outcome<page::ComparedRuns> compare_runs(const ReportArguments& options, const Input& input,
                                               bool& is_damaged) {
  using compare::Grouping;
  using profile::GroupBy;
  const Grouping groupings[] = {{GroupBy::kStack, false, true},
                                {GroupBy::kFunction, false, false},
                                {GroupBy::kFunction, true, false},
                                {GroupBy::kStack, false, false},
                                {GroupBy::kModule, false, false}};
  std::vector<compare::Collector> collectors;
  for (const Grouping& grouping : groupings) {
    collectors.emplace_back(query::kind_of(options.selection), grouping);
  }
  const std::vector<std::string> newest{input.shown};
  query::SelectionOptions selection = options.selection;
  selection.frames = options.read.frames;
  const Sides sides{options.before, options.read.runs.empty() ? newest : options.read.runs};
  auto all = collect_all(sides, std::move(collectors), selection);
  if (!all.has_value()) return all.failure();
  is_damaged = all->is_damaged;
  page::ComparedRuns runs{sides.before, sides.after, {}, {}};
  for (compare::Collected& collected : all->collected) {
    if (const auto error = compare::problem_with(collected, options.read.level)) {
      return base::Failure{std::string(compare::text_of(*error))};
    }
    runs.tables.push_back(compare::compare(std::move(collected), options.read.level));
  }
  runs.tree = std::move(runs.tables.front());
  runs.tables.erase(runs.tables.begin());
  return runs;
}

/// Runs xdg-open, which starts the browser and ends.
bool open_page(const std::string& path) {
  const std::string absolute = std::filesystem::absolute(path).string();
  const pid_t child = fork();
  if (child == 0) {
    execlp("xdg-open", "xdg-open", absolute.c_str(), nullptr);
    _exit(kExitFailed);
  }
  int status = 0;
  if (child > 0 && waitpid(child, &status, 0) == child && status == 0) return true;
  terminal::complain(fmt::format("xdg-open could not open it; in a browser: file://{}", absolute));
  return false;
}

/// A source file as it is on this machine now. Regular files only: a trace may name anything, a
/// pipe that never ends too, and what /proc makes up has no size.
std::optional<std::string> source_text(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return std::nullopt;
  if (std::filesystem::file_size(path, error) == 0) return std::nullopt;
  auto text = query::read_text_file(path);
  if (!text.has_value()) return std::nullopt;
  return std::move(text.value());
}

/// The document of the page.
base::Outcome<std::string> document_of(const ReportArguments& options, const Input& input,
                                       bool& is_damaged) {
  terminal::Progress progress("making the page");
  auto page = page_options(options, input.recording());
  if (!page.has_value()) return page.failure();
  page->progress = [&](std::size_t done, std::size_t total) { progress.update(done, total); };
  if (options.has_source) page->read_source = source_text;
  if (options.before.empty()) return page::page_data(input.recording(), page.value());
  const auto compared = compare_runs(options, input, is_damaged);
  if (!compared.has_value()) return compared.failure();
  page->compared = &compared.value();
  return page::page_data(input.recording(), page.value());
}

/// The template with the document in it.
base::Outcome<std::string> html_of(const std::string& document) {
  const auto html = live::read_template(kReportTemplate);
  if (!html.has_value()) return html;
  auto whole = page::with_data(html.value(), document);
  if (whole) return std::move(*whole);
  return base::Failure{
      fmt::format("share/geiger/{} is not a template of this version", kReportTemplate)};
}

/// What to do next, after `path` was written.
int finish(const ReportArguments& options, const std::string& path, std::size_t bytes,
           int exit_code) {
  if (path == "-") return exit_code;
  terminal::complain(
      fmt::format("wrote {}, {}; {}", path, present::exact_bytes(bytes),
                  options.opens ? "opening it" : "open it in a browser (or use --open)"));
  return options.opens && !open_page(path) ? kExitFailed : exit_code;
}

base::Outcome<int> write_page(const ReportArguments& options, const Input& input) {
  const std::string path =
      options.output.empty() ? default_output(input.recording()) : options.output;
  if (options.opens && path == "-") {
    return usage_failure("--open: a browser cannot open standard output; name a file");
  }
  Output output(path, options.replaces);  // Before the work: it may not be writable.
  if (!output.outcome().has_value()) return output.outcome().failure();
  bool is_damaged = false;
  const auto document = document_of(options, input, is_damaged);
  if (!document.has_value()) return document.failure();
  const auto html = html_of(document.value());
  if (!html.has_value()) return html.failure();
  output.write(html.value());
  const auto written = output.commit();
  if (!written.has_value()) return written.failure();
  return finish(options, path, html->size(), is_damaged ? kExitFailed : input.exit_code());
}

base::Outcome<int> print_document(const ReportArguments& options, const Input& input) {
  bool is_damaged = false;
  const auto document = document_of(options, input, is_damaged);
  if (!document.has_value()) return document.failure();
  return !terminal::print_data(document.value()) || is_damaged ? kExitFailed : input.exit_code();
}

base::Outcome<int> make_report(ReportArguments& options) {
  if (!options.read.is_json) {
    const auto html = live::read_template(kReportTemplate);
    if (!html.has_value()) return html.failure();
  }
  options.read.observes_running = true;
  const auto input = read_input(options.read);
  if (!input.has_value()) return input.failure();
  return options.read.is_json ? print_document(options, input.value())
                              : write_page(options, input.value());
}

}  // namespace

void register_report(CLI::App& app, Work& work) {
  auto options = std::make_shared<ReportArguments>();
  CLI::App* verb = app.add_subcommand("report", "One HTML file with everything, for a browser");
  add_read_options(*verb, options->read);
  verb->add_option("-o,--output", options->output,
                   "File to write (default: geiger-PROGRAM.html here); - for standard output")
      ->type_name("FILE");
  verb->add_flag("-f,--force", options->replaces, "Replace the file if it exists");
  verb->add_flag("--open", options->opens, "Open it in the browser");
  verb->add_flag("--source", options->has_source,
                 "Embed the source lines that appear, as they are on this machine");
  verb->add_option("--diff", options->before,
                   "Also show what changed since this run; may be repeated for several")
      ->type_name("BEFORE")
      ->allow_extra_args(false);
  verb->add_option_function<std::string>(
          "--kind",
          [options](const std::string& name) {
            options->selection.kind = profile::kind_named(name);
          },
          "What --diff compares: allocated (default), live or peak")
      ->check(one_of(query::names_of(query::Kinds::kOfWholeObjects)))
      ->type_name("KIND");
  add_window_options(*verb, options->selection);
  add_filter_options(*verb, options->selection);
  add_heap_option(*verb, options->selection);
  add_frame_options(*verb, options->read.frames);
  verb->callback([options, &work] { work = [options] { return make_report(*options); }; });
}

}  // namespace geiger::cli
