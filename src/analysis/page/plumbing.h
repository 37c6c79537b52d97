// Which frames are the plumbing between a program's own functions: allocators, standard
// libraries, language runtimes. Pages hide them on request; nothing is counted differently.
#pragma once

#include <string_view>

namespace geiger::page {

/// By the demangled name of the function and the path of its module (either may be empty).
[[nodiscard]] bool is_plumbing(std::string_view function, std::string_view module_path);

}  // namespace geiger::page
