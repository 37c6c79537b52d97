// What the loader knows of the process: its modules, and their symbols without dlsym.
#pragma once

#include <link.h>

#include "base/units.h"

namespace geiger::base {

// What the loader knows of the process, without a need for the loader's own library: a program
// whose C library is older, or another one, may have none of this name.
//
// Threads: reads the loader's list without its lock. Signals / Fork: safe. Allocates: never.

/// The first of the loaded modules, the executable; null: not known.
[[nodiscard]] const link_map* first_module();

/// The first definition of a function, in the order of the loader's list; null: not found.
[[nodiscard]] void* find_function(const char* name);

/// Where the first thread's stack begins: argc, arguments, environment; null: not known.
[[nodiscard]] void* first_stack();

// A symbol of a loaded module by name, without dlsym: that locks, may allocate,
// and frees a pending dlerror result of the program through the program's free.
//
// Threads / Signals / Fork: safe while the module stays loaded. Allocates: never.

/// Address of what `module` defines as `name` in its default version, null if
/// nothing. An indirect function's resolver is called. Bounded by the hash table.
[[nodiscard]] void* find_symbol(const link_map* module, const char* name);

/// The address of a variable, found likewise.
[[nodiscard]] void* find_variable(const link_map* module, const char* name);

/// Where a function's code lies, without parts that the compiler put elsewhere; 0 and 0 if `module`
/// defines none of this name.
struct CodeRange {
  Address start, end;
};
[[nodiscard]] CodeRange find_code(const link_map* module, const char* name);

}  // namespace geiger::base
