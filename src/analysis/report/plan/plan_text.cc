#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/present/charts/chart.h"
#include "analysis/present/format.h"
#include "analysis/present/grid.h"
#include "analysis/present/text.h"
#include "analysis/report/plan/plan.h"

namespace geiger::report {
namespace {

constexpr std::size_t kPlanLabelWidth = 18;
constexpr std::size_t kPlanPlotRows = 8;
constexpr std::size_t kPlotGap = 3;

std::string percent(double share) { return fmt::format("{:.3g} %", 100 * share); }

/// A chance, never rounded to certainty.
std::string chance_text(double chance) {
  if (chance >= 1) return "100 %";
  if (chance > 0.9995) return "> 99.9 %";
  return fmt::format("{:.1f} %", 100 * chance);
}

std::string error_text(double relative_error) {
  return relative_error > 0 ? "± " + percent(relative_error) : "exact";
}

/// An expected number: "0.1", "1.75", "1,707".
std::string number_text(double number) {
  if (number < 100) return fmt::format("{:.3g}", number);
  return present::exact_count(present::whole_number(number));
}

/// In a sentence.
std::string deviation_text(double relative_error) {
  return relative_error > 0 ? "standard deviation " + percent(relative_error) : "exact";
}

std::string fact(const present::Style& style, std::string_view label, const std::string& value) {
  constexpr std::size_t kValueIndent = kPlanLabelWidth + 2;
  return "  " +
         present::paint(style, present::Role::kFaint, present::pad_right(label, kPlanLabelWidth)) +
         present::wrap(value, kValueIndent, style.width) + "\n";
}

std::string bytes_text(double bytes) { return present::exact_bytes(present::whole_number(bytes)); }

std::string heading(const PlanReport& report, const present::Style& style) {
  std::string of = report.options.site ? "for a site of " + bytes_text(*report.options.site)
                   : report.intervals.size() > 1 ? "of several intervals"
                                                 : "of an interval";
  if (report.is_site_the_run) of = "for " + bytes_text(*report.options.site) + " in all";
  return present::paint(style, present::Role::kHeading, "Plan " + of) + "\n\n";
}

std::string goal_label(const PlanReport& report, const Goal& goal) {
  const PlanOptions& options = report.options;
  if (goal.kind == Goal::Kind::kChange) {
    return fmt::format("to find a change of {:+.3g} % (power {:.4g} %, false alarms {:.4g} %)",
                       100 * *options.change, 100 * options.power, 100 * options.alpha);
  }
  return fmt::format("to know it within {:.3g} % ({} interval, the wider side)",
                     100 * *options.precision, present::level_text(options.level));
}

std::string goal_text(const PlanReport& report, const Goal& goal, const present::Style& style) {
  const bool is_change = goal.kind == Goal::Kind::kChange;
  const auto samples = present::whole_number(std::ceil(goal.samples));
  std::string out = "  " + present::wrap(goal_label(report, goal), 2, style.width) + "\n";
  std::string answer = present::plural(samples, "sample") + (is_change ? " in each run" : "");
  if (!goal.interval) {
    answer += fmt::format(": an interval of its bytes / {}", present::exact_count(samples));
  } else if (*goal.interval <= 1) {
    answer += ", more than it has bytes: record every allocation (--interval 1)";
  } else {
    answer += fmt::format(": an interval of at most {}", bytes_text(std::floor(*goal.interval)));
  }
  return out + "    " + present::wrap(answer, 4, style.width) + "\n";
}

std::string interval_text(const PlanReport& report) {
  if (report.interval <= 1) return "1 B: every allocation is recorded, nothing is estimated";
  const std::string text = bytes_text(report.interval) + " between sampled bytes, on average";
  return report.is_interval_derived ? text + "; rounded down" : text;
}

std::string cost_text(const PlanReport& report, double events, std::string_view per) {
  const CostModel& cost = report.cost;
  return fmt::format("{}: {} samples, {} to {} of processor time, {} to {} of trace", per,
                     number_text(events),
                     present::duration(static_cast<Nanoseconds>(events * cost.least_seconds * 1e9)),
                     present::duration(static_cast<Nanoseconds>(events * cost.most_seconds * 1e9)),
                     present::bound_bytes(events * cost.least_trace_bytes),
                     present::bound_bytes(events * cost.most_trace_bytes));
}

std::string cost(const PlanReport& report, const present::Style& style) {
  if (report.run) {
    const double events = report.run->expected.samples + report.run->expected.certain;
    std::string out = fact(style, "cost", cost_text(report, events, "a run like this one"));
    if (report.run->events_per_second > 0) {
      out += fact(style, "",
                  fmt::format("{:.3g} samples a second, at most {:.2g} % of a processor",
                              report.run->events_per_second,
                              100 * report.run->events_per_second * report.cost.most_seconds));
    }
    return out;
  }
  // No size mix has more events than one per interval.
  return fact(style, "cost",
              report.interval <= 1 ? "every allocation costs as much as a sample"
                                   : cost_text(report, static_cast<double>(kGiB) / report.interval,
                                               "for each GiB allocated, at most"));
}

std::string facts(const PlanReport& report, const present::Style& style) {
  std::string out = fact(style, "interval", interval_text(report));
  if (report.site) {
    const Outlook& site = *report.site;
    out +=
        fact(style, report.is_site_the_run ? "small objects" : "the site",
             fmt::format("{} samples expected, chance {} to be seen, {}", number_text(site.samples),
                         chance_text(site.chance), deviation_text(site.relative_error)));
  }
  if (report.run) {
    const estimation::Expected& run = report.run->expected;
    out +=
        fact(style, "as this run",
             fmt::format("{} samples and {} certain objects expected, {}", number_text(run.samples),
                         number_text(run.certain), deviation_text(run.relative_error)));
  }
  out += cost(report, style);
  if (report.detection_limit >= 1) {
    out += fact(style, "detection limit",
                present::bound_bytes(report.detection_limit) +
                    ": any site without samples allocated less than this");
  }
  return out;
}

std::string outlook_table(const PlanReport& report, const present::Style& style) {
  if (report.interval <= 1) return "";
  present::Grid grid({{"small objects", present::Align::kRight, false},
                      {"in intervals", present::Align::kRight, false},
                      {"samples", present::Align::kRight, false},
                      {"chance to be seen", present::Align::kRight, false},
                      {"relative error", present::Align::kRight, false}},
                     2);
  for (const Outlook& one : report.sites) {
    grid.add({bytes_text(one.bytes), number_text(one.bytes / report.interval),
              number_text(one.samples), chance_text(one.chance), error_text(one.relative_error)});
  }
  return "\n" + grid.text(style);
}

/// Large errors as multiples of the size, as the axis of the chart has them.
std::string object_error_text(double relative_error) {
  if (relative_error <= 0) return "exact";
  if (relative_error >= 10) return number_text(relative_error) + "x";
  return number_text(100 * relative_error) + " %";
}

/// A line for each interval.
std::string interval_table(const PlanReport& report, const present::Style& style) {
  std::vector<present::Column> columns{{"interval", present::Align::kRight, false},
                                       {"detection limit", present::Align::kRight, false}};
  if (report.site) {
    for (const char* heading : {"samples", "chance", "error"}) {
      columns.push_back({heading, present::Align::kRight, false});
    }
  }
  if (report.run) columns.push_back({"of this run", present::Align::kRight, false});
  columns.push_back({report.run ? "CPU time at most" : "CPU time per GiB, at most",
                     present::Align::kRight, false});
  present::Grid grid(std::move(columns), 2);
  for (const IntervalOutlook& one : report.intervals) {
    std::vector<std::string> cells{bytes_text(one.interval),
                                   present::bound_bytes(one.detection_limit)};
    if (one.site) {
      cells.push_back(number_text(one.site->samples));
      cells.push_back(chance_text(one.site->chance));
      cells.push_back(error_text(one.site->relative_error));
    }
    double events = static_cast<double>(kGiB) / one.interval;
    if (one.run) {
      events = one.run->samples + one.run->certain;
      cells.push_back(error_text(one.run->relative_error));
    }
    cells.push_back(one.interval <= 1 && !one.run ? "-"
                                                  : present::duration(static_cast<Nanoseconds>(
                                                        events * report.cost.most_seconds * 1e9)));
    grid.add(std::move(cells));
  }
  return grid.text(style);
}

std::string object_table(const PlanReport& report, const present::Style& style) {
  if (report.intervals.back().interval <= 1) return "";
  std::vector<present::Column> columns{{"its size", present::Align::kRight, false}};
  for (const IntervalOutlook& one : report.intervals) {
    columns.push_back({"at " + bytes_text(one.interval), present::Align::kRight, false});
  }
  present::Grid grid(std::move(columns), 2);
  for (std::size_t i = 0; i < report.intervals.front().objects.size(); ++i) {
    std::vector<std::string> cells{
        bytes_text(static_cast<double>(report.intervals.front().objects[i].bytes))};
    for (const IntervalOutlook& one : report.intervals) {
      cells.push_back(object_error_text(one.objects[i].relative_error));
    }
    grid.add(std::move(cells));
  }
  const std::string what =
      "Error of one sampled object, which stands for size / probability bytes; errors of many "
      "samples cancel";
  return fmt::format(
      "\n{}\n{}",
      present::paint(style, present::Role::kHeading, present::wrap(what, 0, style.width)),
      grid.text(style));
}

std::string function_table(const PlanReport& report, const present::Style& style) {
  if (!report.run || report.run->functions.empty()) return "";
  std::vector<present::Column> columns;
  present::append_figure_columns(columns, "allocated");
  columns.push_back({"samples", present::Align::kRight, false});
  columns.push_back({"error", present::Align::kRight, false});
  if (!report.goals.empty()) columns.push_back({"goal needs", present::Align::kRight, false});
  columns.push_back({"function", present::Align::kLeft, false});
  present::Grid grid(std::move(columns), 2);
  for (const FunctionOutlook& function : report.run->functions) {
    std::vector<std::string> cells;
    present::append_figure(cells, present::figure(function.now.bytes, present::Quantity::kBytes));
    cells.push_back(number_text(function.expected.samples + function.expected.certain));
    cells.push_back(error_text(function.expected.relative_error));
    if (!report.goals.empty()) {
      cells.push_back(function.goal_interval ? bytes_text(std::floor(*function.goal_interval))
                                             : "-");
    }
    cells.push_back(present::printable(function.name));
    grid.add(std::move(cells));
    grid.name(function.name, "");
  }
  return fmt::format("\n{}\n{}",
                     present::paint(style, present::Role::kHeading, "Expected of its functions"),
                     grid.text(style));
}

std::string pictures(const PlanReport& report, const present::Style& style) {
  if (report.intervals.front().interval <= 1) return "";
  const std::size_t columns = (std::min<std::size_t>(style.width, 100) - kPlotGap) / 2;
  const auto draw = [&](const present::Chart& chart) {
    return present::draw_dots(chart, columns, kPlanPlotRows, style.has_unicode);
  };
  std::string out =
      "\n" + present::beside(draw(chance_chart(report)), draw(error_chart(report)), kPlotGap);
  if (report.intervals.size() > 1)
    out += "\n" + present::beside(draw(object_chart(report)), {}, kPlotGap);
  return out;
}

/// As --interval takes it.
std::string interval_option(double interval) {
  const auto bytes = static_cast<Bytes>(interval);
  return bytes % kKiB == 0 ? fmt::format("{}KiB", bytes / kKiB) : fmt::format("{}", bytes);
}

}  // namespace

std::string to_text(const PlanReport& report, const present::Style& style) {
  std::string out = heading(report, style);
  for (const Goal& goal : report.goals) out += goal_text(report, goal, style);
  if (!report.goals.empty()) out += "\n";
  if (report.intervals.size() > 1) {
    out += interval_table(report, style) + object_table(report, style);
  } else {
    out += facts(report, style) + function_table(report, style) + outlook_table(report, style);
    out += object_table(report, style);
  }
  out += pictures(report, style);
  return out + fmt::format("\nnext: geiger run --interval {} -- PROGRAM\n",
                           interval_option(report.interval));
}

}  // namespace geiger::report
