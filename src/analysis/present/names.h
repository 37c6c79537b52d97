// Words for values that a recording stores as numbers: those of the vocabulary, also for unknown
// values from a later runtime, and for the endings of processes.
#pragma once

#include <string>
#include <string_view>

#include "analysis/profile/recording.h"
#include "vocabulary/entry_point.h"
#include "vocabulary/losses.h"

namespace geiger::present {

/// "malloc", "operator new[]", ...; "entry point 77" where unknown.
[[nodiscard]] std::string entry_point_name(vocabulary::EntryPoint entry_point);

/// Why samples or frees were dropped, as a clause: "the trace was full".
[[nodiscard]] std::string drop_cause_text(vocabulary::DropCause cause);
/// The cause as an identifier: "trace_full".
[[nodiscard]] std::string drop_cause_key(vocabulary::DropCause cause);

/// "exited", "killed", "still_open", "switched_off".
[[nodiscard]] std::string_view ending_key(profile::Ending ending);
/// "4711", or "4711 (17 in its pid namespace)".
[[nodiscard]] std::string pid_text(const profile::Process& process);
/// "killed by SIGKILL (out of memory?)". Requires that the signal is known.
[[nodiscard]] std::string killed_text(const profile::Process& process);
/// The ending as a clause, with the reason where recording stopped early.
[[nodiscard]] std::string ending_text(const profile::Process& process);
/// "trace_full", ... or "" where recording did not stop early; "unknown".
[[nodiscard]] std::string_view stop_reason_key(vocabulary::StopReason reason);

}  // namespace geiger::present
