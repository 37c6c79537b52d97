#include "analysis/page/header.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <string_view>

#include "analysis/page/names.h"
#include "analysis/present/text.h"
#include "analysis/profile/totals.h"
#include "analysis/report/lives/lifetimes.h"
#include "analysis/report/overview/rss.h"
#include "analysis/report/overview/summary.h"
#include "analysis/report/profiles/table.h"

namespace geiger::page {
namespace {

using profile::Recording;
using report::SummaryFact;

/// Facts may quote what programs call themselves.
constexpr std::size_t kMostWarnings = 50;

std::string started_text(const Recording& recording) {
  const auto& first = *std::ranges::min_element(recording.processes, {}, &profile::Process::start);
  constexpr Nanoseconds kSecond = 1'000'000'000;
  const auto seconds = static_cast<std::time_t>(first.start_realtime / kSecond);
  return fmt::format("{:%Y-%m-%d %H:%M:%S} UTC", fmt::gmtime(seconds));
}

std::string scope_text(const present::Scope& scope) {
  const std::string only = present::only_text(scope);
  if (scope.when.empty()) return only;
  return only.empty() ? scope.when : scope.when + "; " + only;
}

/// Whether a fact means something where processes stand for hosts.
bool is_of_hosts(const SummaryFact& fact) {
  constexpr std::array<std::string_view, 7> kNames{
      "interval", "samples", "allocated", "exact total", "detection limit", "stacks", "dropped"};
  return std::ranges::find(kNames, fact.label) != kNames.end();
}

/// How much of a fleet was recorded, in a line.
std::string hosts_text(const PageOptions& options) {
  constexpr std::string_view kBegin = "Recorded: ";
  present::Style line;
  line.width = std::numeric_limits<std::size_t>::max();
  line.level = options.level;
  std::string text = text_of(options.scope.fleet, line);
  if (text.starts_with(kBegin)) text.erase(0, kBegin.size());
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

void add_program(std::vector<SummaryFact>& facts, const Recording& recording,
                 const PageOptions& options) {
  if (options.only) {
    facts.push_back({"hosts", hosts_text(options)});
    facts.push_back({"only", scope_text(options.scope)});
    return;
  }
  facts.push_back({"program", report::program_text(recording), report::what_ran(recording)});
  if (!recording.processes.empty()) facts.push_back({"started", started_text(recording)});
  if (!options.scope.is_part()) return;
  facts.push_back({"only", scope_text(options.scope),
                   options.scope.is_split ? "located with a quarter of the samples" : ""});
}

/// The lengths that the page's table shows, from the start to the longest watched: between frees
/// the band widens with every object that is no longer watched.
const std::vector<double> kTableLengths{0,    1e6,    1e9,
                                        60e9, 3600e9, std::numeric_limits<double>::infinity()};

Survival survival_of(const report::LifetimeLine& line) {
  Survival curve;
  const std::string name = shortened(line.name, kMostTextBytes);
  curve.name = line.detail.empty() ? name : fmt::format("{} ({})", name, line.detail);
  curve.samples = line.allocated.samples;
  std::map<double, SurvivalPoint> points;
  for (const auto& steps : {line.bytes.steps, line.bytes.asked}) {
    for (const estimation::SurvivalStep& step : steps) {
      points[step.length] = {step.length, step.alive, step.band.lo, step.band.hi};
    }
  }
  for (const auto& [length, point] : points) curve.points.push_back(point);
  return curve;
}

}  // namespace

void add_header(PageData& data, const Recording& recording, const PageOptions& options) {
  data.version = options.version;
  data.level = options.level;
  report::SummaryOptions summary;
  summary.level = options.level;
  summary.selection = options.selection;
  summary.selection.kind = profile::Kind::kAllocated;
  summary.scope = options.scope;
  summary.is_followed = options.is_followed;
  summary.sites = 0;
  const report::SummaryReport report = report::summary_report(recording, summary);
  data.opening =
      profile::name_of(report.mapped_finding ? profile::Kind::kMappedAtPeak : report.finding.kind);
  data.title = shortened(options.title.empty() ? report::program_text(recording) : options.title,
                         kMostTextBytes);
  data.columns = report::table_columns(profile::GroupBy::kFunction);
  data.columns_without_totals = report::table_columns(profile::GroupBy::kThread);
  add_program(data.facts, recording, options);
  for (SummaryFact& fact : report::summary_facts(report, recording)) {
    if (!options.only || is_of_hosts(fact)) data.facts.push_back(std::move(fact));
  }
  for (SummaryFact& fact : data.facts) fact.value = shortened(fact.value, kMostTextBytes);
  data.fault = shortened(present::as_sentence(report.fault), kMostTextBytes);
  data.warnings = report::summary_warnings(report, recording);
  if (data.warnings.size() > kMostWarnings) {
    data.left_out.push_back(
        present::plural(data.warnings.size() - kMostWarnings, "further warning"));
    data.warnings.resize(kMostWarnings);
  }
  for (std::string& warning : data.warnings) warning = shortened(warning, kMostTextBytes);
}

std::vector<Survival> survival_curves(const Recording& recording, const PageOptions& options) {
  const profile::Selection& selection = options.selection;
  const bool is_told = recording.tallies.empty() && selection.heap == profile::kProcessHeap;
  if (!is_told) return {};
  report::LifetimesOptions lifetimes;
  lifetimes.level = options.level;
  lifetimes.top = kMostCurves;
  lifetimes.lengths = kTableLengths;
  lifetimes.selection.keeps = selection.keeps;
  if (selection.from) lifetimes.selection.allocated_in.from = *selection.from;
  if (selection.to) lifetimes.selection.allocated_in.to = *selection.to;
  const report::LifetimesReport report = report::lifetimes_report(recording, lifetimes);
  if (report.whole.allocated.samples == 0) return {};
  std::vector<Survival> curves{survival_of(report.whole)};
  for (const report::LifetimeLine& line : report.lines) curves.push_back(survival_of(line));
  return curves;
}

std::vector<AccountLine> resident_account(const Recording& recording, const PageOptions& options) {
  report::RssOptions rss;
  rss.level = options.level;
  if (!recording.tallies.empty()) return {};
  const auto account = report::rss_report(recording, rss);
  if (!account.has_value()) return {};
  const auto resident = static_cast<double>(account->resident);
  const char* name =
      account->excess > 0 ? "resident set; its parts contradict each other" : "resident set";
  std::vector<AccountLine> lines{{name, resident, {resident, resident}, 0}};
  for (const report::RssRow& row : account->rows) {
    lines.push_back(
        {std::string(report::text_of(row.part)), row.bytes.value, row.bytes.interval, 1});
  }
  return lines;
}

}  // namespace geiger::page
