// Stand-ins for functions of an allocator that call others of its functions by name. Such calls lead
// to our entry points, so each allocation would be counted twice, and its second stack would start
// inside the allocator.
//
// Threads, signals, fork: as the originals that they call. Allocates: through those.
#pragma once

namespace geiger::interpose {

struct Originals;

/// For musl's calloc, which calls malloc, its memalign and posix_memalign, which call aligned_alloc,
/// and its valloc, which calls memalign.
void lay_over_malloc(Originals& found);

}  // namespace geiger::interpose
