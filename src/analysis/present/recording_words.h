// A recording in words: names of the numbers that it stores, and how much of its program it covers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/present/fields.h"
#include "analysis/profile/recording/recording.h"
#include "vocabulary/vocabulary.h"

namespace geiger::present {

/// What to do about objects that only CPython's collector lists.
inline constexpr std::string_view kCollectorRemedy =
    "only CPython's collector can free them: call gc.collect(), or break the cycles with weakref";

// Words for values that a recording stores as numbers: those of the vocabulary, also for unknown
// values from a later runtime, and for the endings of processes.

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

// How much of a program a recording covers: all of it, some segments, everything since attaching,
// the fates of only some samples, or sums only; and what of its interpreters.

/// A line for each restriction of each process; no lines for recordings that have everything in one
/// piece. `is_followed`: of a picture that follows traces, which counts samples whatever their
/// runtime did: that is not worth a line.
[[nodiscard]] std::vector<std::string> extent_lines(const profile::Recording& recording,
                                                    bool is_followed = false);

/// What is not in the recording because no trace could be made for it, a line each.
[[nodiscard]] std::vector<std::string> refused_lines(const profile::Recording& recording);

/// How many segments of processes were there once and are not among those read.
[[nodiscard]] std::uint64_t missing_segments(const profile::Recording& recording);

/// "3.11.2" of Py_Version.
[[nodiscard]] std::string python_version(std::uint32_t version);

/// "Python 3.11.2: stacks lack its frames, as asked", a line for each interpreter whose frames or
/// small objects are not recorded, equal ones once.
[[nodiscard]] std::vector<std::string> interpreter_lines(const profile::Recording& recording);
/// Of them those whose frames cannot be recorded, although they were asked for.
[[nodiscard]] std::vector<std::string> frameless_lines(const profile::Recording& recording);

/// An interpreter of a recording.
struct InterpreterOf {
  const profile::Recording& recording;
  const profile::Interpreter& interpreter;
};
[[nodiscard]] const Fields<InterpreterOf>& fields_of(Of<InterpreterOf> /*type*/);

/// How much of a process was recorded, inlined: "segments", "thinning", "is_attached" and
/// "is_aggregated".
struct ExtentOf {
  const profile::Process& process;
};
[[nodiscard]] const Fields<ExtentOf>& fields_of(Of<ExtentOf> /*type*/);

/// "at least 3.1 s"; empty if it is not known.
[[nodiscard]] std::string text_of(const profile::ProcessorTime& time);
[[nodiscard]] const Fields<profile::ProcessorTime>& fields_of(Of<profile::ProcessorTime> /*type*/);

}  // namespace geiger::present
