// Functions of allocators, besides those of C, that take blocks which malloc gave. A program that
// calls one frees past us, and the allocator gets what is not its own if that is a guarded object.
#pragma once

struct link_map;

namespace geiger::interpose {

/// Whether a module that is loaded now calls such a function of this allocator. Walks relocations,
/// some 0.1 ms for a thousand of them; nothing to walk where the allocator has none, as the C
/// library's. Threads: the loader's list must not change meanwhile. Allocates: never.
[[nodiscard]] bool frees_privately(const link_map* allocator);

}  // namespace geiger::interpose
