#include "analysis/report/fleet/cost.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/present/format.h"
#include "analysis/present/function_names.h"
#include "analysis/present/grid.h"
#include "analysis/present/hours.h"
#include "analysis/present/json.h"
#include "analysis/present/stack_json.h"
#include "analysis/present/text.h"
#include "estimation/scaled.h"

namespace geiger::report {
namespace {

using estimation::Estimate;

constexpr double kGiB = 1024.0 * 1024 * 1024;
constexpr std::size_t kRoomForCostName = 24;

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

/// Columns of figures: amounts, money if there is a price, shares if there is room.
class CostTable {
 public:
  CostTable(const CostReport& report, bool has_shares)
      : report_(report), has_shares_(has_shares), grid_(columns()) {
    if (report.options.price) decimals_ = decimals_of(money_of(report.bill, *report.options.price));
  }

  void add(const Estimate& byte_hours, const CostLine& line, const present::Style& style) {
    std::vector<std::string> cells = figures(byte_hours);
    cells.push_back(present::printable(line.name));
    present::add_row(grid_, std::move(cells), line.name, line.detail, profile::GroupBy::kFunction,
                     style, false, line.where);
  }
  void add(const Estimate& byte_hours, std::string text) {
    std::vector<std::string> cells = figures(byte_hours);
    cells.push_back(std::move(text));
    grid_.add(std::move(cells));
    grid_.keep_whole();
  }
  [[nodiscard]] const present::Grid& grid() const { return grid_; }

 private:
  [[nodiscard]] std::vector<present::Column> columns() const {
    std::vector<present::Column> columns;
    present::append_figure_columns(columns, "bytes x h");
    if (report_.options.price) present::append_figure_columns(columns, "money");
    if (has_shares_) present::append_figure_columns(columns, "of the bill");
    columns.push_back({"", present::Align::kLeft, false, true});
    return columns;
  }
  [[nodiscard]] std::vector<std::string> figures(const Estimate& byte_hours) const {
    std::vector<std::string> cells;
    present::append_figure(cells, amount(byte_hours));
    if (report_.options.price) {
      present::append_figure(cells,
                             money_figure(money_of(byte_hours, *report_.options.price), decimals_));
    }
    if (has_shares_) present::append_figure(cells, share_of_bill(byte_hours, report_.bill));
    return cells;
  }

  const CostReport& report_;
  bool has_shares_;
  int decimals_ = 2;
  present::Grid grid_;
};

void fill(CostTable& table, const CostReport& report, const present::Style& style) {
  for (const CostLine& line : report.lines) table.add(line.byte_hours, line, style);
  if (report.rows > report.lines.size()) {
    table.add(report.others,
              present::plural(report.rows - report.lines.size(), "further function"));
  }
  table.add(report.rest, "not live objects");
  if (report.unrecorded > 0) table.add(exactly(report.unrecorded), "not recorded");
  table.add(exactly(report.bill), "the bill");
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

void write_amount(present::JsonWriter& json, const char* name, const Estimate& byte_hours,
                  const CostOptions& options) {
  json.object(name, [&] {
    json.field("byte_hours", byte_hours);
    if (options.price) json.field("money", money_of(byte_hours, *options.price));
  });
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
  CostTable whole(report, true), narrow(report, false);
  for (CostTable* table : {&whole, &narrow}) fill(*table, report, style);
  const bool has_room = whole.grid().room_for_cut(style.width) >= kRoomForCostName;
  out += (has_room ? whole : narrow).grid().text(style);
  return out + "\n" +
         present::paint(style, present::Role::kFaint,
                        present::wrap_lines(notes(report), style.width)) +
         text_of(report.options.scope.fleet, style);
}

std::string to_json(const CostReport& report) {
  const CostOptions& options = report.options;
  present::JsonWriter json("fleet-cost");
  json.field("level", options.level);
  write_field(json, options.scope);
  if (options.price) json.field("price_per_gib_hour", *options.price);
  json.object("bill", [&] {
    json.field("byte_hours", report.bill);
    if (options.price) json.field("money", money_of(report.bill, *options.price));
  });
  json.field("unrecorded_byte_hours", report.unrecorded);
  json.field("known_hours", report.known_hours).field("unknown_hours", report.unknown_hours);
  write_amount(json, "live", report.live, options);
  write_amount(json, "not_live", report.rest, options);
  json.field("row_count", report.rows);
  json.objects("rows", report.lines, [&](const CostLine& line) {
    present::write_name(json, line.name, true);
    json.field("detail", line.detail);
    write_field(json, line.where);
    json.field("byte_hours", line.byte_hours);
    if (options.price) json.field("money", money_of(line.byte_hours, *options.price));
  });
  write_amount(json, "others", report.others, options);
  return json.finish();
}

}  // namespace geiger::report
