// `geiger fleet report`: a page of all hosts, for a browser.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/compare/comparison.h"
#include "analysis/page/page.h"
#include "analysis/present/coverage.h"
#include "analysis/present/format.h"
#include "cli/options/fleet_options.h"
#include "cli/options/selection_options.h"
#include "cli/verbs/fleet/fleet_verbs.h"
#include "cli/verbs/fleet/versions.h"
#include "cli/verbs/page_file.h"
#include "terminal/progress.h"
#include "terminal/terminal.h"

namespace geiger::cli {
namespace {

struct FleetReportArguments {
  FleetOptions fleet;
  PageFile file;
  std::vector<std::string> named;
  Versions versions;
};

/// The comparison of two versions, as the page shows it.
base::Outcome<page::ComparedRuns> compare_pages(const FleetReportArguments& options) {
  std::vector<compare::Collector> collectors;
  for (const compare::Grouping& grouping : kPageGroupings) {
    collectors.emplace_back(options.fleet.kind, grouping);
  }
  Shown shown;
  auto collected =
      GEIGER_TRY(collect_versions(options.fleet, options.versions, std::move(collectors), shown));
  for (std::size_t i = 0; i < shown.fleet.size(); ++i) {
    const std::string hosts = present::plural(shown.fleet[i].recorded_hosts, "host");
    (i == 0 ? shown.before : shown.after).back() +=
        fmt::format(", {}, per {}", hosts, shown.per.empty() ? "host" : shown.per);
  }
  return compared_runs(std::move(shown.before), std::move(shown.after), std::move(collected),
                       options.fleet.level);
}

base::Outcome<std::string> fleet_document(const FleetReportArguments& options) {
  const auto part =
      GEIGER_TRY(open_part(options.fleet, options.named.empty() ? "" : options.named.back()));
  const auto fleet =
      GEIGER_TRY(ask_named(*part.store, part.filter, options.fleet, fleet::Unit::kHost));
  page::PageOptions page;
  page.level = options.fleet.level;
  page.version = GEIGER_VERSION;
  page.title = text_of(part.filter);
  page.scope = scope_of(part.filter, fleet, options.fleet.kind);
  const auto profile = select_in(fleet.recording, options.fleet.kind, fleet.longest_ms());
  page.scope.fleet = {coverage_of(part.filter, fleet, profile, options.fleet.level)};
  page.only = options.fleet.kind;
  page.preset = preset_of(options.fleet.frames);
  std::optional<page::ComparedRuns> compared;
  if (options.named.size() == 2) {
    compared = GEIGER_TRY(compare_pages(options));
    page.compared = &*compared;
  }
  terminal::Progress progress("making the page");
  page.progress = [&](std::size_t done, std::size_t total) { progress.update(done, total); };
  return page::page_data(fleet.recording, page);
}

base::Outcome<int> make_fleet_report(FleetReportArguments& options) {
  if (options.named.size() > 2) {
    return usage_failure("fleet report: one version, or two to compare: BEFORE AFTER");
  }
  if (options.named.size() == 2) {
    options.versions.before = options.named[0];
    options.versions.after = options.named[1];
  }
  if (options.fleet.is_json) {
    const auto document = GEIGER_TRY(fleet_document(options));
    return terminal::print_data(document) ? kExitOk : kExitFailed;
  }
  GEIGER_TRY(check_page_template());
  const std::string name = options.named.empty() ? "fleet" : "fleet-" + options.named.back();
  return write_page_file(options.file, page_name(name), [&] { return fleet_document(options); });
}

}  // namespace

void add_fleet_report(CLI::App& fleet, Work& work) {
  auto options = std::make_shared<FleetReportArguments>();
  CLI::App* verb = fleet.add_subcommand("report", "One HTML file on all hosts, for a browser");
  verb->add_option("VERSION", options->named,
                   "Version (default: all together), or two: the page of the\n"
                   "second one also shows what changed since the first")
      ->type_name("");
  add_store_options(*verb, options->fleet);
  add_page_file_options(*verb, options->file, "geiger-fleet-VERSION.html here");
  add_part_options(*verb, options->fleet);
  add_comparison_options(*verb, options->versions);
  add_frame_options(*verb, options->fleet.frames);
  verb->callback([options, &work] { work = [options] { return make_fleet_report(*options); }; });
}

}  // namespace geiger::cli
