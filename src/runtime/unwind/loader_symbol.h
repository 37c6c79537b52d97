// A symbol of a loaded module by name, without dlsym: that locks, may allocate,
// and frees a pending error of the host.
#pragma once

#include <link.h>

namespace geiger::unwind {

/// Address of the function `name` that `map` defines in any version; null = none.
/// The module must stay loaded during the call. Bounded by its hash table.
[[nodiscard]] void* find_function(const link_map& map, const char* name);

}  // namespace geiger::unwind
