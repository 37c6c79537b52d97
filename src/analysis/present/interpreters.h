// What was recorded of the interpreters of a recording, in words.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/present/json.h"
#include "analysis/profile/recording.h"

namespace geiger::present {

/// "3.11.2" of Py_Version.
[[nodiscard]] std::string python_version(std::uint32_t version);

/// Whether its stacks or its small objects are not recorded as they could be.
[[nodiscard]] bool misses_something(const profile::Interpreter& interpreter);

/// "Python 3.11.2: stacks lack its frames, as asked", each that misses something once.
[[nodiscard]] std::vector<std::string> interpreter_lines(const profile::Recording& recording);

/// The field "interpreters"; none without any.
void write_interpreters(JsonWriter& json, const profile::Recording& recording);

}  // namespace geiger::present
