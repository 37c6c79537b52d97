// Non-standard functions of allocators that free or resize malloc's blocks. A program that calls
// one bypasses us, and passes the allocator an address that is not its own if the object is
// guarded.
#pragma once

struct link_map;

namespace geiger::interpose {

/// Whether a loaded module calls such a function of this allocator. Walks relocations, about 0.1 ms
/// per thousand, unless the allocator has no such function, like the C library's. Threads: the
/// loader's list must not change meanwhile. Allocates: never.
[[nodiscard]] bool frees_privately(const link_map* allocator);

}  // namespace geiger::interpose
