// Parts of the queries on ClickHouse's tables.
#pragma once

#include <cstdint>
#include <string>

namespace geiger::fleet {

inline constexpr std::int64_t kDay = 86'400;
/// The day that a window or row begins in, since 1970.
inline constexpr const char* kDayOfStart = "intDiv(toUInt32(started), 86400)";
inline constexpr const char* kWindowKey = "version, host, process, started";
/// The columns in which samples are alike.
inline constexpr const char* kCell = "stack_id, size, step, thinning, certain";
inline constexpr const char* kCellOfAnyStack = "size, step, thinning, certain";

[[nodiscard]] std::string clause_of_time(std::int64_t from, std::int64_t to);

/// A relation with each window once, with its time as a number.
[[nodiscard]] std::string windows_where(const std::string& condition);

/// A query for the keys of windows all of whose rows are there.
[[nodiscard]] std::string complete_windows(const std::string& condition);

}  // namespace geiger::fleet
