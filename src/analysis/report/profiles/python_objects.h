// Of how many sampled objects of Python the type is known, and why not of the others, for tables of
// types.
#pragma once

#include <optional>
#include <string>

#include "analysis/present/json.h"
#include "analysis/profile/memory/python_typing.h"

namespace geiger::report {

/// A line of its own; empty if all have a type.
[[nodiscard]] std::string text_of(const profile::PythonTyping& python);

/// The field "python_objects", where there are some.
void write_field(present::JsonWriter& json, const std::optional<profile::PythonTyping>& python);

}  // namespace geiger::report
