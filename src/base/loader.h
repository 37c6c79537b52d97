// What the loader knows of the process, without a need for the loader's own library: a program
// whose C library is older, or another one, may have none of this name.
//
// Threads: reads the loader's list without its lock. Signals / Fork: safe. Allocates: never.
#pragma once

#include <link.h>

extern "C" void* __libc_stack_end;  // NOLINT: the loader's name.

// Wherever the loader defines them, if it does.
#pragma weak _r_debug
#pragma weak __libc_stack_end

namespace geiger::base {

/// The first of the loaded modules, the executable; null: not known.
[[nodiscard]] inline const link_map* first_module() {
  return &_r_debug == nullptr ? nullptr : _r_debug.r_map;
}

/// Where the first thread's stack begins: argc, arguments, environment; null: not known.
[[nodiscard]] inline void* first_stack() {
  return &__libc_stack_end == nullptr ? nullptr : __libc_stack_end;
}

}  // namespace geiger::base
