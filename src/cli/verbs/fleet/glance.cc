#include "cli/verbs/fleet/glance.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <span>
#include <utility>

#include "analysis/present/fields.h"
#include "analysis/present/format.h"
#include "analysis/present/measure.h"
#include "analysis/present/text.h"
#include "analysis/report/fleet/series.h"
#include "cli/options/ending.h"
#include "cli/verbs/fleet/fleet_verbs.h"
#include "cli/verbs/fleet/versions.h"
#include "fleet/ask/ask.h"
#include "fleet/document/cut.h"
#include "terminal/terminal.h"

namespace geiger::cli {
namespace {

constexpr std::int64_t kTrendSteps = 12;

struct ServiceGlance {
  std::string service;
  std::uint64_t versions = 0, hosts = 0;
  Glance glance;
};

struct ServiceList {
  profile::Kind kind = profile::Kind::kAllocated;
  double level = 0.95;
  std::vector<ServiceGlance> services;
};

/// A length of steps, a multiple of the grid, of which about kTrendSteps make the time of a part.
base::Outcome<std::int64_t> trend_step(fleet::Store& store, const fleet::Filter& filter) {
  std::int64_t first = INT64_MAX, last = 0;
  const auto versions = GEIGER_TRY(store.versions());
  for (const fleet::VersionFacts& facts : versions) {
    const bool is_part =
        facts.service == filter.service && (!filter.version || *filter.version == facts.version);
    if (!is_part) continue;
    first = std::min(first, facts.first);
    last = std::max(last, facts.last);
  }
  const std::int64_t range = std::max<std::int64_t>(last - first, 0) + fleet::kGrid;
  return (range / kTrendSteps / fleet::kGrid + 1) * fleet::kGrid;
}

}  // namespace

base::Outcome<Glance> glance_at(fleet::Store& store, const fleet::Filter& filter,
                                profile::Kind kind, double level) {
  const auto step = GEIGER_TRY(trend_step(store, filter));
  auto series = GEIGER_TRY(fleet::ask_series(store, filter, kind, step, false));
  const auto hosts = GEIGER_TRY(store.hosts(filter));
  const std::uint64_t longest =
      std::ranges::max_element(hosts, {}, &fleet::HostSums::recorded_ms)->recorded_ms;
  Glance glance;
  const profile::Recording& all = series.fleet.recording;
  glance.bytes = present::measure_total(all, select_in(all, kind, longest), level).bytes;
  std::size_t next = 0;
  GEIGER_TRY(fleet::for_each_host(
      std::move(series.fleet),
      [&](const profile::Recording& recording, const fleet::HostSums& sums) -> base::Outcome<void> {
        const fleet::StepSums& step_sums = series.steps[next++];
        const double divisor = kind == profile::Kind::kAllocated
                                   ? present::hours_of(step_sums.recorded_ms)
                                   : static_cast<double>(step_sums.recorded_hosts);
        const auto measure =
            present::measure_total(recording, select_in(recording, kind, sums.recorded_ms), level);
        glance.trend.push_back(estimation::scaled(measure.bytes, 1 / divisor));
        return {};
      }));
  return glance;
}

void append_glance_columns(std::vector<present::Column>& columns) {
  present::append_figure_columns(columns, "bytes");
  columns.push_back({"trend", present::Align::kLeft});
}

void append_glance(std::vector<std::string>& cells, const Glance& glance,
                   const present::Style& style) {
  present::append_figure(cells, present::figure(glance.bytes, present::Quantity::kBytes));
  cells.push_back(report::marks_of(glance.trend, kTrendSteps, style.has_unicode));
}

}  // namespace geiger::cli

namespace geiger::present {

static const Fields<cli::ServiceGlance>& fields_of(Of<cli::ServiceGlance> /*type*/) {
  static const auto kFields =
      Fields<cli::ServiceGlance>("service")
          .field("service", "", &cli::ServiceGlance::service)
          .field("versions", "", &cli::ServiceGlance::versions)
          .field("hosts", "", &cli::ServiceGlance::hosts)
          .field("bytes", "as the total of `fleet top`",
                 [](const cli::ServiceGlance& it) { return it.glance.bytes; })
          .field("trend", "in equal steps of its time: per hour of a host, or live per host",
                 [](const cli::ServiceGlance& it) { return std::span(it.glance.trend); });
  return kFields;
}

static const Fields<cli::ServiceList>& fields_of(Of<cli::ServiceList> /*type*/) {
  static const auto kFields =
      Fields<cli::ServiceList>("fleet-services", "Those with most bytes first.")
          .field("kind", "", &cli::ServiceList::kind)
          .field("level", "confidence level of all intervals", &cli::ServiceList::level)
          .field("services", "", [](const cli::ServiceList& it) { return std::span(it.services); });
  return kFields;
}

}  // namespace geiger::present

namespace geiger::cli {
namespace {

base::Outcome<ServiceList> list_services(const FleetOptions& options) {
  auto store = GEIGER_TRY(open_store(options));
  ServiceList list{options.kind, options.level, {}};
  const auto names = GEIGER_TRY(store->services());
  const auto versions = GEIGER_TRY(store->versions());
  for (const std::string& name : names) {
    FleetOptions own = options;
    own.service = name;
    const auto filter = GEIGER_TRY(filter_of(*store, own));
    const auto hosts = GEIGER_TRY(store->hosts(filter));
    const auto recorded = std::ranges::count_if(
        hosts, [](const fleet::HostSums& host) { return host.recorded_ms > 0; });
    if (recorded == 0) continue;
    ServiceGlance& service = list.services.emplace_back();
    service.service = name;
    service.hosts = hosts.size();
    service.versions = static_cast<std::uint64_t>(
        std::ranges::count(versions, name, &fleet::VersionFacts::service));
    service.glance = GEIGER_TRY(glance_at(*store, filter, options.kind, options.level));
  }
  if (list.services.empty()) return base::Failure{"nothing of that was recorded in the store"};
  std::ranges::stable_sort(list.services, std::greater<>(),
                           [](const ServiceGlance& service) { return service.glance.bytes.value; });
  return list;
}

std::string services_text(const ServiceList& list, const present::Style& style) {
  std::string text = present::paint(
      style, present::Role::kHeading,
      fmt::format("{} by {}, {} intervals\n\n",
                  list.kind == profile::Kind::kAllocated ? "Allocated" : "Live on average",
                  present::plural(list.services.size(), "service"),
                  present::level_text(list.level)));
  std::vector<present::Column> columns{{"service", present::Align::kLeft}, {"hosts"}};
  append_glance_columns(columns);
  present::Grid grid(std::move(columns));
  for (const ServiceGlance& service : list.services) {
    std::vector<std::string> cells{present::printable(service.service),
                                   present::exact_count(service.hosts)};
    append_glance(cells, service.glance, style);
    grid.add(std::move(cells));
  }
  return text + grid.text(style) + "\nOne of them: geiger fleet top --service NAME\n";
}

}  // namespace

base::Outcome<int> print_services(const FleetOptions& options) {
  const auto list = GEIGER_TRY(list_services(options));
  if (options.is_json) {
    return terminal::print_data(present::document("fleet-services", list)) ? kExitOk : kExitFailed;
  }
  const present::Style style = terminal::output_style(options.level);
  return terminal::print_report(services_text(list, style), style) ? kExitOk : kExitFailed;
}

present::DocumentSchema fleet_services_schema() {
  return present::document_schema<ServiceList>("fleet-services");
}

}  // namespace geiger::cli
