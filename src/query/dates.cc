#include "query/dates.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <array>
#include <chrono>
#include <ctime>
#include <string>

#include "query/sizes.h"

namespace geiger::query {

base::Outcome<std::int64_t> parse_date(std::string_view text, std::int64_t now) {
  constexpr std::array kForms{"%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%MZ",
                              "%Y-%m-%dT%H:%M", "%Y-%m-%d"};
  const std::string typed(text);
  for (const char* form : kForms) {
    std::tm parts{};
    const char* end = strptime(typed.c_str(), form, &parts);
    if (end != nullptr && *end == '\0') return std::int64_t{timegm(&parts)};
  }
  const auto ago = parse_duration(text);
  if (ago.has_value()) return now - static_cast<std::int64_t>(ago.value() / 1'000'000'000);
  return base::Failure{fmt::format("invalid date '{}' ({})", text, kDateForms)};
}

std::string date_text(std::int64_t seconds) {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(static_cast<std::time_t>(seconds)));
}

}  // namespace geiger::query
