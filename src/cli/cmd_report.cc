// `geiger report`: everything that a run tells, as one HTML file.
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "analysis/page/html.h"
#include "analysis/page/page.h"
#include "analysis/report/summary_facts.h"
#include "analysis/report/text.h"
#include "cli/commands.h"
#include "cli/input.h"
#include "cli/output.h"
#include "cli/selection.h"
#include "cli/template_file.h"
#include "cli/terminal.h"

namespace geiger::cli {
namespace {

struct Options {
  ReadOptions read;
  SelectionOptions selection;
  std::string output;  ///< Empty: named after the program.
  bool replaces = false;
  bool opens = false;
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

page::PageOptions page_options(const Options& options, const profile::Recording& recording) {
  page::PageOptions page;
  Subject subject = subject_or_refuse(options.selection, recording);
  page.level = options.read.level;
  page.version = GEIGER_VERSION;
  page.selection = std::move(subject.selection);
  page.scope = std::move(subject.scope);
  return page;
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
  complain(fmt::format("xdg-open could not open it; in a browser: file://{}", absolute));
  return false;
}

int write_page(const Options& options, const Input& input) {
  const profile::Recording& recording = input.recording();
  const std::string document = page::page_data(recording, page_options(options, recording));
  if (options.read.is_json) return print_data(document) ? input.exit_code() : kExitFailed;
  const auto html = read_template("report.html");
  if (!html.has_value()) {
    complain(html.reason());
    return kExitFailed;
  }
  const auto whole = page::with_data(html.value(), document);
  if (!whole) {
    complain("share/geiger/report.html is not a template of this version");
    return kExitFailed;
  }
  const std::string path = options.output.empty() ? default_output(recording) : options.output;
  Output output(path, options.replaces);
  output.write(*whole);
  output.commit();
  if (!output.error().empty()) {
    complain(output.error());
    return kExitFailed;
  }
  if (path == "-") return input.exit_code();
  complain(fmt::format("wrote {}", path));
  if (options.opens && !open_page(path)) return kExitFailed;
  return input.exit_code();
}

int make_report(Options& options) {
  options.read.observes_running = true;
  const auto input = read_input(options.read);
  return input ? write_page(options, *input) : kExitFailed;
}

}  // namespace

void register_report(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand("report", "One HTML file with everything, for a browser");
  add_read_options(*verb, options->read);
  verb->add_option("-o,--output", options->output,
                   "File to write (default: geiger-PROGRAM.html here); - for standard output")
      ->type_name("FILE");
  verb->add_flag("-f,--force", options->replaces, "Replace the file if it exists");
  verb->add_flag("--open", options->opens, "Open it in the browser");
  add_window_options(*verb, options->selection);
  add_filter_options(*verb, options->selection);
  add_heap_option(*verb, options->selection);
  verb->callback([options, &exit_code] { exit_code = make_report(*options); });
}

}  // namespace geiger::cli
