#include "analysis/present/coverage.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/present/format.h"
#include "analysis/present/hours.h"
#include "analysis/present/text.h"

namespace geiger::present {
namespace {

std::string hours_text(std::uint64_t milliseconds) { return duration(milliseconds * 1'000'000); }

std::uint64_t missing_ms(const Coverage& part) {
  return part.expected_ms - std::min(part.recorded_ms, part.expected_ms);
}

std::string recorded_text(const Coverage& part) {
  const bool has_all_hosts = part.recorded_hosts == part.hosts;
  const std::string hosts =
      has_all_hosts ? plural(part.hosts, "host")
                    : fmt::format("{} of {}", part.recorded_hosts, plural(part.hosts, "host"));
  const std::string recorded = hours_text(part.recorded_ms);
  if (part.is_whole())
    return fmt::format("{}, {} of their time; nothing is missing.", hosts, recorded);
  std::string text = fmt::format("{}, {} of {} of their time; {} missing", hosts, recorded,
                                 hours_text(part.expected_ms), hours_text(missing_ms(part)));
  if (part.gaps > 0) {
    text += fmt::format(", {} of it lost in {}", hours_text(part.gap_ms), plural(part.gaps, "gap"));
  }
  return text + ".";
}

std::string all_text(const Coverage& part, double level) {
  if (part.is_whole()) return "";
  if (!part.all) {
    const bool is_one = part.recorded_hosts == 1;
    return is_one ? " One host is not enough to estimate the total." : "";
  }
  std::string text = fmt::format(
      " Estimated total: {}, {} interval, assuming that unrecorded time is like the rest.",
      figure(part.all->bytes, Quantity::kBytes).text(), level_text(level));
  if (part.all->is_of_few) {
    text += fmt::format(
        " Few hosts (fewer than {}): if they differ a lot, such intervals miss too often.",
        estimation::kFewHosts);
  }
  return text;
}

}  // namespace

std::string text_of(const std::vector<Coverage>& parts, const Style& style) {
  std::string text;
  for (const Coverage& part : parts) {
    text += fmt::format("Recorded{}: {}{}\n", parts.size() > 1 ? " of " + printable(part.of) : "",
                        recorded_text(part), parts.size() > 1 ? "" : all_text(part, style.level));
  }
  return text.empty() ? text : paint(style, Role::kFaint, wrap_lines(text, style.width));
}

void write_field(JsonWriter& json, const std::vector<Coverage>& parts) {
  if (parts.empty()) return;
  json.objects("fleet", parts, [&](const Coverage& part) {
    json.field("of", part.of).field("hosts", part.hosts);
    json.field("recorded_hosts", part.recorded_hosts);
    json.field("expected_hours", hours_of(part.expected_ms));
    json.field("recorded_hours", hours_of(part.recorded_ms));
    json.field("missing_hours", hours_of(missing_ms(part)));
    json.field("gaps", part.gaps).field("gap_hours", hours_of(part.gap_ms));
    if (!part.all) return;
    json.field("all_hosts", part.all->bytes).field("is_of_few_hosts", part.all->is_of_few);
  });
}

}  // namespace geiger::present
