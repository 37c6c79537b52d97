#include "analysis/present/coverage.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "analysis/present/format.h"
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

std::string killed_text(const Coverage& part) {
  if (part.killed == 0) return "";
  std::string text = fmt::format(" {} {} ended without exit", exact_count(part.killed),
                                 part.killed == 1 ? "process" : "processes");
  if (part.out_of_memory > 0) {
    text += fmt::format(", {} of them while the host was out of memory", part.out_of_memory);
  }
  return text + ".";
}

/// "0 to 1, 8 to 12"
std::string hours_of_day_text(const Coverage& part) {
  std::vector<std::string> stretches;
  for (std::size_t hour = 0; hour < part.ms_of_hour.size();) {
    const std::size_t first = hour;
    while (hour < part.ms_of_hour.size() && part.ms_of_hour[hour] > 0) ++hour;
    if (hour == first) {
      ++hour;
      continue;
    }
    stretches.push_back(fmt::format("{} to {}", first, hour));
  }
  return fmt::format("{}", fmt::join(stretches, ", "));
}

/// The part of the recorded time that two share by hours of the day, 0 to 1.
double common_hours(const Coverage& one, const Coverage& other) {
  const auto sum = [](const Coverage& part) {
    return static_cast<double>(
        std::accumulate(part.ms_of_hour.begin(), part.ms_of_hour.end(), std::uint64_t{0}));
  };
  const double all = sum(one), all_other = sum(other);
  double common = 0;
  for (std::size_t hour = 0; hour < one.ms_of_hour.size(); ++hour) {
    common += std::min(static_cast<double>(one.ms_of_hour[hour]) / all,
                       static_cast<double>(other.ms_of_hour[hour]) / all_other);
  }
  return common;
}

/// Load follows the time of the day. Jobs have no hours: only what ran for longer has.
std::string hours_differ_text(const std::vector<Coverage>& parts) {
  constexpr double kAlike = 0.9;
  constexpr std::uint64_t kHourMs = 3'600'000;
  if (parts.size() != 2) return "";
  const bool are_jobs = std::ranges::all_of(parts, [](const Coverage& part) {
    return part.recorded_ms < kHourMs * std::max<std::uint64_t>(part.recorded_hosts, 1);
  });
  if (are_jobs || !(common_hours(parts[0], parts[1]) < kAlike)) return "";
  return fmt::format(
      "Hours of the day differ (UTC): {} was recorded from {}, {} from {}. What depends on the "
      "time of the day looks like a change; --same-hours compares hours that both have.\n",
      printable(parts[0].of), hours_of_day_text(parts[0]), printable(parts[1].of),
      hours_of_day_text(parts[1]));
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
    text += fmt::format("Recorded{}: {}{}{}\n", parts.size() > 1 ? " of " + printable(part.of) : "",
                        recorded_text(part), killed_text(part),
                        parts.size() > 1 ? "" : all_text(part, style.level));
  }
  text += hours_differ_text(parts);
  return text.empty() ? text : paint(style, Role::kFaint, wrap_lines(text, style.width));
}

const Fields<Coverage>& fields_of(Of<Coverage> /*type*/) {
  static const auto kFields =
      Fields<Coverage>("fleet", "Of what ran, how much was recorded.")
          .field("of", "of which service and version", &Coverage::of)
          .field("hosts", "", &Coverage::hosts)
          .field("recorded_hosts", "", &Coverage::recorded_hosts)
          .field("expected_hours", "recorded, missing and lost, summed over hosts",
                 [](const Coverage& it) { return hours_of(it.expected_ms); })
          .field("recorded_hours", "", [](const Coverage& it) { return hours_of(it.recorded_ms); })
          .field("missing_hours", "", [](const Coverage& it) { return hours_of(missing_ms(it)); })
          .field("gaps", "in what was recorded", &Coverage::gaps)
          .field("gap_hours", "", [](const Coverage& it) { return hours_of(it.gap_ms); })
          .field("killed", "processes that ended without exit()", &Coverage::killed)
          .field("out_of_memory", "of these, while their hosts ran out of memory",
                 &Coverage::out_of_memory)
          .field("all_hosts",
                 "estimated bytes of all of them, assuming that unrecorded time is like the rest",
                 [](const Coverage& it) {
                   return it.all ? std::optional(it.all->bytes) : std::nullopt;
                 })
          .field("is_of_few_hosts",
                 "so few that the interval misses too often if they differ a lot",
                 [](const Coverage& it) {
                   return it.all ? std::optional(it.all->is_of_few) : std::nullopt;
                 });
  return kFields;
}

}  // namespace geiger::present
