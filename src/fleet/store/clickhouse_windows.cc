#include "fleet/store/clickhouse_windows.h"

#include <fmt/format.h>

namespace geiger::fleet {

std::string clause_of_time(std::int64_t from, std::int64_t to) {
  return fmt::format("started >= {} AND started < {}", from, to);
}

std::string windows_where(const std::string& condition) {
  return fmt::format(
      "(SELECT *, toInt64(begin) AS started FROM (SELECT service, version, host, process, started "
      "AS begin, executable, recorded_ms, alive_ms, exact_bytes, unsettled_bytes, step, thinning, "
      "seed, dropped, rss_byte_seconds, is_pure, from_start, samples, label_names, label_values "
      "FROM windows FINAL WHERE {}))",
      condition);
}

std::string complete_windows(const std::string& condition) {
  return fmt::format(
      "SELECT {0} FROM (SELECT {0}, row_count, samples FROM windows FINAL WHERE {1}) AS said ALL "
      "LEFT JOIN "
      "(SELECT {0}, COUNT(*) AS n, SUM(allocated) AS a FROM counts FINAL WHERE {1} GROUP BY {0}) "
      "AS there "
      "USING ({0}) WHERE row_count = n AND samples = a",
      kWindowKey, condition);
}

}  // namespace geiger::fleet
