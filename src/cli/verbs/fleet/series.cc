// `geiger fleet series`: memory of all hosts over time.
#include "analysis/report/fleet/series.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "analysis/present/measure.h"
#include "analysis/profile/groups/view.h"
#include "cli/options/ending.h"
#include "cli/options/fleet_options.h"
#include "cli/options/input.h"
#include "cli/options/parsed_option.h"
#include "cli/options/selection_options.h"
#include "cli/options/terminal_options.h"
#include "cli/verbs/fleet/fleet_verbs.h"
#include "cli/verbs/fleet/versions.h"
#include "fleet/document/cut.h"
#include "query/words.h"

namespace geiger::cli {
namespace {

using profile::Kind;
using report::SeriesPoint;
using report::SeriesReport;

struct SeriesArguments {
  FleetOptions fleet;
  std::string version;
  std::size_t top = 24;
  SeriesReport report;
};

/// A length of steps: whole steps of the grid of windows.
base::Outcome<std::int64_t> parse_step(const std::string& text) {
  const auto length = GEIGER_TRY(query::parse_duration(text));
  constexpr Nanoseconds kGridStep = static_cast<Nanoseconds>(fleet::kGrid) * 1'000'000'000;
  if (length == 0 || length % kGridStep != 0) {
    return base::Failure{fmt::format("'{}' is not a multiple of {} minutes, the length of a window",
                                     text, fleet::kGrid / 60)};
  }
  return static_cast<std::int64_t>(length / 1'000'000'000);
}

/// Totals of each step, into the points.
base::Outcome<void> add_totals(const fleet::Series& series, Kind kind, double level,
                               std::vector<SeriesPoint>& points) {
  std::size_t next = 0;
  return fleet::for_each_host(
      fleet::Fleet(series.fleet),
      [&](const profile::Recording& recording, const fleet::HostSums& step) -> base::Outcome<void> {
        const auto sums = profile::total(recording, select_in(recording, kind, step.recorded_ms));
        SeriesPoint& point = points[next++];
        (kind == Kind::kAllocated ? point.allocated : point.live) =
            present::measure_total(sums, level).bytes;
        return {};
      });
}

std::vector<SeriesPoint> points_of(const fleet::Series& series) {
  std::vector<SeriesPoint> points;
  for (const fleet::StepSums& step : series.steps) {
    SeriesPoint& point = points.emplace_back();
    point.started = step.started;
    point.from = query::date_text(step.started);
    point.coverage.hosts = step.hosts;
    point.coverage.recorded_hosts = step.recorded_hosts;
    point.coverage.expected_ms = step.alive_ms;
    point.coverage.recorded_ms = step.recorded_ms;
  }
  return points;
}

using SiteKey = std::pair<std::string, std::string>;

/// The sites with most bytes over all steps, without their points.
std::vector<report::SeriesSite> largest_sites(const fleet::Series& series, Kind kind,
                                              std::size_t top, std::uint64_t& all) {
  const profile::Recording& recording = series.fleet.recording;
  auto rows =
      profile::table(recording, profile::select(recording, kind), profile::GroupBy::kFunction);
  std::erase_if(rows, [](const profile::Row& row) { return !present::is_seen(row.self); });
  std::ranges::stable_sort(rows, std::greater<>(),
                           [](const profile::Row& row) { return row.self.all_bytes(); });
  all = rows.size();
  if (top != 0 && rows.size() > top) rows.resize(top);
  std::vector<report::SeriesSite> sites;
  for (const profile::Row& row : rows) sites.push_back({row.name, row.detail, row.where, {}});
  return sites;
}

base::Outcome<void> add_sites(const fleet::Series& series, Kind kind, double level,
                              std::vector<report::SeriesSite>& sites) {
  return fleet::for_each_host(
      fleet::Fleet(series.fleet),
      [&](const profile::Recording& recording, const fleet::HostSums& step) -> base::Outcome<void> {
        const auto profile = select_in(recording, kind, step.recorded_ms);
        std::map<SiteKey, estimation::NodeSums> seen;
        for (const profile::Row& row :
             profile::table(recording, profile, profile::GroupBy::kFunction)) {
          seen[{row.name, row.detail}].merge(row.self);
        }
        for (report::SeriesSite& site : sites) {
          estimation::NodeSums sums = seen[{site.name, site.detail}];
          sums.could_have_sampled(profile.largest_interval);
          site.points.push_back(present::measure_total(sums, level).bytes);
        }
        return {};
      });
}

base::Outcome<int> print_series(SeriesArguments& options) {
  const auto part = GEIGER_TRY(open_part(options.fleet, options.version));
  SeriesReport& report = options.report;
  report.level = options.fleet.level;
  report.kind = options.fleet.kind;
  std::vector<Kind> kinds{Kind::kAllocated, Kind::kLiveAtEnd};
  if (report.has_sites) kinds = {report.kind};
  for (const Kind kind : kinds) {
    auto series = GEIGER_TRY(
        fleet::ask_series(*part.store, part.filter, kind, report.step, report.has_sites));
    if (report.points.empty()) {
      report.points = points_of(series);
      report.scope = scope_of(part.filter, series.fleet, kind);
      report.scope.when.clear();
      report.scope.fleet = {coverage_of(part.filter, series.fleet.reach)};
    }
    // What came between two queries is in none of the points.
    if (series.steps.size() != report.points.size()) {
      return base::Failure{"the store changed while it was read: run the command again"};
    }
    GEIGER_TRY(add_totals(series, kind, report.level, report.points));
    if (!report.has_sites) continue;
    GEIGER_TRY(name_frames(series.fleet.recording, options.fleet.frames));
    report.sites = largest_sites(series, kind, options.top, report.site_count);
    GEIGER_TRY(add_sites(series, kind, report.level, report.sites));
  }
  report.top = options.top;
  return print(report, options.fleet) ? kExitOk : kExitFailed;
}

}  // namespace

void add_fleet_series(CLI::App& fleet, Work& work) {
  auto options = std::make_shared<SeriesArguments>();
  CLI::App* verb = fleet.add_subcommand("series", "Memory of all hosts over time");
  verb->add_option("VERSION", options->version, "Version of the service (default: all together)")
      ->type_name("");
  add_store_options(*verb, options->fleet);
  add_part_options(*verb, options->fleet);
  add_parsed(*verb, "--step", "LENGTH", "Length of a step, a multiple of 10 minutes (default 1h)",
             parse_step, [options](std::int64_t step) { options->report.step = step; });
  add_choice(*verb, "--by", "GROUP", "function: the largest functions over time",
             Choices<bool>{{"function", true}},
             [options](bool has_sites) { options->report.has_sites = has_sites; });
  add_fleet_kind_option(*verb, options->fleet);
  add_number(*verb, "--top", "N", options->top,
             "Steps, or functions, to list (default 24; 0: all)");
  add_names_option(*verb);
  add_frame_options(*verb, options->fleet.frames);
  verb->callback([options, &work] { work = [options] { return print_series(*options); }; });
}

}  // namespace geiger::cli
