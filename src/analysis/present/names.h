// Words for the numbers that a trace stores: entry points, causes, endings. The
// tables follow the enumerations of the trace format, which this room may not
// include; a test of the command line holds the two together.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "analysis/profile/recording.h"

namespace geiger::present {

/// Number of entry points and drop causes that have a name.
inline constexpr std::size_t kEntryPoints = 13;
inline constexpr std::size_t kDropCauses = 5;

/// "malloc", "operator new[]", ...; "entry point 77" where unknown.
[[nodiscard]] std::string entry_point_name(std::uint8_t entry_point);

/// Why samples or frees were dropped, as a clause: "the trace was full".
[[nodiscard]] std::string drop_cause_text(std::size_t cause);
/// The same as an identifier: "trace_full".
[[nodiscard]] std::string drop_cause_key(std::size_t cause);

/// "exited", "killed", "still_open", "switched_off".
[[nodiscard]] std::string_view ending_key(profile::Ending ending);
/// The ending as a clause, with the reason where recording stopped early.
[[nodiscard]] std::string ending_text(const profile::Process& process);
/// "trace_full", ... or "" where recording did not stop early.
[[nodiscard]] std::string_view stop_reason_key(std::uint32_t reason);

}  // namespace geiger::present
