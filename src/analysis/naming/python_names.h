// Names of Python's functions, which are not those of C++: "outer.<locals>.<lambda>".
#pragma once

#include <string>
#include <string_view>

namespace geiger::naming {

/// Whether only Python names functions so: "<module>", "f.<locals>.g", "Pool.<listcomp>".
[[nodiscard]] bool is_python_name(std::string_view name);

/// Without what says that a function is local to the one before it: "outer.<lambda>".
[[nodiscard]] std::string python_display_name(std::string_view name);

}  // namespace geiger::naming
