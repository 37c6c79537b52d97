// What the loader knows of the process, without a need for the loader's own library: a program
// whose C library is older, or another one, may have none of this name.
//
// Threads: reads the loader's list without its lock. Signals / Fork: safe. Allocates: never.
#pragma once

#include <link.h>

namespace geiger::base {

/// The first of the loaded modules, the executable; null: not known.
[[nodiscard]] const link_map* first_module();

/// The first definition of a function, in the order of the loader's list; null: not found.
[[nodiscard]] void* find_function(const char* name);

/// Where the first thread's stack begins: argc, arguments, environment; null: not known.
[[nodiscard]] void* first_stack();

}  // namespace geiger::base
