#include "cli/verbs/page_file.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cctype>
#include <filesystem>
#include <utility>

#include "analysis/page/page_data.h"
#include "analysis/present/format.h"
#include "cli/options/ending.h"
#include "cli/options/output.h"
#include "live/template_file.h"
#include "terminal/terminal.h"

namespace geiger::cli {

namespace {

constexpr const char* kReportTemplate = "report.html";

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

/// The template with the document in it.
base::Outcome<std::string> html_of(const std::string& document) {
  const auto html = GEIGER_TRY(live::read_template(kReportTemplate));
  auto whole = page::with_data(html, document);
  if (whole) return std::move(*whole);
  return base::Failure{
      fmt::format("share/geiger/{} is not a template of this version", kReportTemplate)};
}

}  // namespace

void add_page_file_options(CLI::App& verb, PageFile& file, const std::string& usual) {
  verb.add_option("-o,--output", file.output,
                  fmt::format("File to write (default: {}); - for standard output", usual))
      ->type_name("FILE");
  verb.add_flag("-f,--force", file.replaces, "Replace the file if it exists");
  verb.add_flag("--open", file.opens, "Open it in the browser");
}

std::string page_name(const std::string& name) {
  constexpr std::size_t kMostBytes = 100;
  std::string plain;
  for (const char c : name.substr(0, kMostBytes)) {
    const bool is_plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' ||
                          c == '_' || c == '-' || c == '+';
    plain += is_plain ? c : '_';
  }
  return fmt::format("geiger-{}.html", plain.empty() ? "report" : plain);
}

base::Outcome<void> check_page_template() {
  GEIGER_TRY(live::read_template(kReportTemplate));
  return {};
}

base::Outcome<int> write_page_file(
    const PageFile& file, const std::string& usual,
    const std::function<base::Outcome<std::string>()>& make_document) {
  const std::string path = file.output.empty() ? usual : file.output;
  if (file.opens && path == "-") {
    return usage_failure("--open: a browser cannot open standard output; name a file");
  }
  Output output(path, file.replaces);  // Before the work: it may not be writable.
  GEIGER_TRY(output.outcome());
  const auto document = GEIGER_TRY(make_document());
  const auto html = GEIGER_TRY(html_of(document));
  output.write(html);
  GEIGER_TRY(output.commit());
  if (path == "-") return kExitOk;
  terminal::complain(
      fmt::format("wrote {}, {}; {}", path, present::exact_bytes(html.size()),
                  file.opens ? "opening it" : "open it in a browser (or use --open)"));
  return file.opens && !open_page(path) ? kExitFailed : kExitOk;
}

}  // namespace geiger::cli
