// A symbol of a loaded module by name, without dlsym: that locks, may allocate,
// and frees a pending dlerror result of the program through the program's free.
//
// Threads / Signals / Fork: safe while the module stays loaded. Allocates: never.
#pragma once

#include <link.h>

namespace geiger::base {

/// Address of what `module` defines as `name` in its default version, null if
/// nothing. An indirect function's resolver is called. Bounded by the hash table.
[[nodiscard]] void* find_symbol(const link_map* module, const char* name);

}  // namespace geiger::base
