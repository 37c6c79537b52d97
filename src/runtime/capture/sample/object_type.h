// The type of a sampled object of Python, read while its memory is still its own: at its free.
//
// Nothing that is freed is trusted. The interpreter may have used the object's words for a list of
// free objects, or have cleared its class; what is then not a type, or has no name, is not written.
//
// Threads / Signals: as capture.h. System calls: as python/memory.h, if checked; twice per object,
// and some more for each new type. Allocates: a name per type, from the arena.
#pragma once

#include <cstdint>

namespace geiger::capture {

/// Writes the type of a sample that take() removed. Call it before the allocator gets the memory.
/// Does nothing if the sample is not an object of an interpreter whose types can be read.
void record_object_type(std::uint64_t taken);

}  // namespace geiger::capture
