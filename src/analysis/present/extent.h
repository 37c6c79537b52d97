// How much of a program a recording covers: all of it, some segments, everything since attaching,
// the fates of only some samples, or sums only; and what of its interpreters.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/present/fields.h"
#include "analysis/profile/recording.h"

namespace geiger::present {

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

}  // namespace geiger::present
