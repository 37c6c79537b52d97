// Of how many sampled objects of Python the type is known, and why not of the others, for tables of
// types.
#pragma once

#include <string>

#include "analysis/present/fields.h"
#include "analysis/profile/memory/python_typing.h"

namespace geiger::report {

/// A line of its own; empty if all have a type.
[[nodiscard]] std::string text_of(const profile::PythonTyping& python);

}  // namespace geiger::report

namespace geiger::present {

[[nodiscard]] const Fields<profile::PythonTyping>& fields_of(Of<profile::PythonTyping> /*type*/);

}  // namespace geiger::present
