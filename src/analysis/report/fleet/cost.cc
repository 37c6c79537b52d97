#include "analysis/report/fleet/cost.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/present/coverage.h"
#include "analysis/present/format.h"
#include "analysis/present/function_names.h"
#include "analysis/present/grid.h"
#include "analysis/present/text.h"
#include "estimation/estimate.h"

namespace geiger::report {
namespace {

using estimation::Estimate;
using present::Fields;
using present::Of;

constexpr double kGiB = 1024.0 * 1024 * 1024;

double money_of(double byte_hours, double price) { return byte_hours / kGiB * price; }

Estimate money_of(const Estimate& byte_hours, double price) {
  return estimation::scaled(byte_hours, price / kGiB);
}

/// Amounts of one bill have enough decimals to show a thousandth of it.
int decimals_of(double bill) {
  if (!(bill > 0)) return 2;
  return std::clamp(3 - static_cast<int>(std::floor(std::log10(bill))), 0, 12);
}

present::Figure money_figure(const Estimate& money, int decimals) {
  const auto text = [&](double amount) { return fmt::format("{:.{}f}", amount, decimals); };
  if (money.samples == 0 && money.exact == 0 && money.variance == 0 && money.value == 0) {
    return {"< " + text(money.interval.hi), ""};
  }
  if (money.interval.lo == money.interval.hi) return {text(money.value), ""};
  return {text(money.value),
          fmt::format("[{}, {}]", text(money.interval.lo), text(money.interval.hi))};
}

Estimate exactly(double value) {
  Estimate estimate;
  estimate.value = estimate.exact = value;
  estimate.interval = {value, value};
  return estimate;
}

present::Figure amount(const Estimate& byte_hours) {
  if (byte_hours.interval.lo == byte_hours.interval.hi) {
    return {present::exact_bytes(present::whole_number(byte_hours.value)), ""};
  }
  return present::figure(byte_hours, present::Quantity::kBytes);
}

present::Figure share_of_bill(const Estimate& byte_hours, double bill) {
  if (!(bill > 0)) return {};
  return present::figure(present::Share{
      byte_hours.value / bill, {byte_hours.interval.lo / bill, byte_hours.interval.hi / bill}});
}

/// Byte-hours, an estimate or as counted.
template <typename T>
struct Amount {
  T byte_hours;
  std::optional<double> price;

  [[nodiscard]] std::optional<T> money() const {
    return price ? std::optional(money_of(byte_hours, *price)) : std::nullopt;
  }
};

template <typename T>
const Fields<Amount<T>>& fields_of(Of<Amount<T>> /*type*/) {
  static const auto kFields = Fields<Amount<T>>()
                                  .field("byte_hours", "bytes times hours", &Amount<T>::byte_hours)
                                  .field("money", "with `--price`", &Amount<T>::money);
  return kFields;
}

/// A function, or in the table what else is part of the bill.
struct CostRow {
  CostLine it;
  const CostReport& report;
  bool is_function = true;

  [[nodiscard]] Amount<Estimate> amount() const { return {it.byte_hours, report.options.price}; }
};

std::vector<CostRow> rows_of(const CostReport& report) {
  std::vector<CostRow> rows;
  for (const CostLine& line : report.lines) rows.push_back({line, report});
  return rows;
}

const Fields<CostRow>& fields_of(Of<CostRow> /*type*/) {
  using present::Cells;
  using present::kStays;
  static const auto kFields =
      Fields<CostRow>("cost_row")
          .inlined([](const CostLine& it) { return present::Named{it.name}; })
          .field("detail", "as rows of `table` have it", &CostLine::detail)
          .inlined(&CostLine::where)
          .inlined(&CostRow::amount)
          .only_column(Cells::kFigure, "bytes x h", kStays,
                       [](const CostRow& row) { return amount(row.it.byte_hours); })
          .only_column(
              Cells::kFigure, "money",
              [](const CostRow& row) {
                return row.report.options.price ? kStays : present::kAbsent;
              },
              [](const CostRow& row) {
                const double bill = money_of(row.report.bill, *row.report.options.price);
                return money_figure(*row.amount().money(), decimals_of(bill));
              })
          .only_column(
              Cells::kFigure, "of the bill", 1,
              [](const CostRow& row) { return share_of_bill(row.it.byte_hours, row.report.bill); })
          .only_column(Cells::kName, "", kStays,
                       [](const CostRow& row) { return present::printable(row.it.name); });
  return kFields;
}

std::string bill_table(const CostReport& report, const present::Style& style) {
  std::vector<CostRow> rows = rows_of(report);
  const auto add_part = [&](const Estimate& byte_hours, std::string_view name) {
    rows.push_back({{std::string(name), "", {}, byte_hours}, report, false});
  };
  if (report.rows > report.lines.size()) {
    add_part(report.others, present::plural(report.rows - report.lines.size(), "further function"));
  }
  add_part(report.rest, "not live objects");
  if (report.unrecorded > 0) add_part(exactly(report.unrecorded), "not recorded");
  add_part(exactly(report.bill), "the bill");
  const auto add = [&](present::Grid& grid, std::vector<std::string> cells, const CostRow& row) {
    if (row.is_function) {
      present::add_row(grid, std::move(cells), row.it.name, row.it.detail,
                       profile::GroupBy::kFunction, style, false, row.it.where);
    } else {
      grid.add(std::move(cells));
      grid.keep_whole();
    }
  };
  return present::fitting_grid(rows, style, add).text(style);
}

std::string heading(const CostReport& report, const present::Style& style) {
  const std::string amount = present::exact_bytes(present::whole_number(report.bill));
  std::string text = fmt::format("Resident memory times hours: {} x h", amount);
  if (report.options.price) {
    const double bill = money_of(report.bill, *report.options.price);
    text += fmt::format(", which cost {:.{}f} at {:g} per GiB and hour", bill, decimals_of(bill),
                        *report.options.price);
  }
  if (const std::string only = present::only_text(report.options.scope); !only.empty())
    text += "; " + only;
  text += fmt::format(". Parts have {} intervals; the bill was read from the kernel.",
                      present::level_text(report.options.level));
  return present::paint(style, present::Role::kHeading, present::wrap(text, 0, style.width)) +
         "\n\n";
}

std::string notes(const CostReport& report) {
  std::string text;
  if (report.live.value > report.bill - report.unrecorded) {
    text +=
        "Live objects are larger than resident memory: parts of them were never touched, or are "
        "swapped out.\n";
  }
  if (report.unknown_hours > 0) {
    text += fmt::format(
        "Resident memory is unknown for {} of the recorded time, which no figure includes.\n",
        present::duration(present::nanoseconds_of_hours(report.unknown_hours)));
  }
  if (!report.options.price) {
    text += "--price N (per GiB and hour) adds amounts of money.\n";
  }
  return text;
}

}  // namespace

void settle(CostReport& report) {
  const double resident = report.bill - report.unrecorded;
  const auto left = [&](double live) { return std::max(resident - live, 0.0); };
  report.rest = report.live;
  report.rest.value = left(report.live.value);
  report.rest.interval = {left(report.live.interval.hi), left(report.live.interval.lo)};
  report.rest.exact = 0;
}

std::string to_text(const CostReport& report, const present::Style& style) {
  std::string out = heading(report, style);
  out += bill_table(report, style);
  return out + "\n" +
         present::paint(style, present::Role::kFaint,
                        present::wrap_lines(notes(report), style.width)) +
         text_of(report.options.scope.fleet, style);
}

const Fields<CostReport>& fields_of(Of<CostReport> /*type*/) {
  const auto amount_of = []<typename T>(const T CostReport::*field) {
    return [field](const CostReport& it) { return Amount<T>{it.*field, it.options.price}; };
  };
  static const auto kFields =
      Fields<CostReport>("fleet-cost")
          .field("level", "confidence level of all intervals",
                 [](const CostReport& it) { return it.options.level; })
          .inlined([](const CostReport& it) { return it.options.scope; })
          .field("price_per_gib_hour", "", [](const CostReport& it) { return it.options.price; })
          .field("bill", "resident memory times hours, as read from the kernel",
                 amount_of(&CostReport::bill))
          .field("unrecorded_byte_hours", "part of the bill: processes that were not recorded",
                 &CostReport::unrecorded)
          .field("known_hours", "recorded hours with known resident memory",
                 &CostReport::known_hours)
          .field("unknown_hours", "other recorded hours, which are in no figure",
                 &CostReport::unknown_hours)
          .field("live", "live objects", amount_of(&CostReport::live))
          .field("not_live", "the rest of the bill", amount_of(&CostReport::rest))
          .field("row_count", "rows before `--top`", &CostReport::rows)
          .field("rows", "the largest first", [](const CostReport& it) { return rows_of(it); })
          .field("others", "rows left out", amount_of(&CostReport::others));
  return kFields;
}

std::string to_json(const CostReport& report) { return present::document("fleet-cost", report); }

}  // namespace geiger::report
