// The type of a sampled object of Python, read while its memory is still its own: at its free.
//
// Nothing that is freed is trusted. The interpreter may have used the object's words for a list of
// free objects, or have cleared its class; what is then not a type, or has no name, is not written.
//
// Threads / Signals: as capture.h; the thread has the interpreter's lock. System calls: one or two
// per free, more for each new type and for blocks that are not objects; as python/memory.h, if
// checked. Allocates: a name per type, from the arena.
#pragma once

#include <cstdint>

#include "runtime/capture/capture.h"

namespace geiger::capture {

/// Call after each sample of an interpreter's object, with its value in the live table or 0. Learns
/// the name of the type of the thread's sample before, which is an object by now: its class may
/// have no name left when the object is freed. Nothing is said of that sample, as in the midst of
/// an allocation its words can be those of the block's previous object.
void learn_type(ThreadState& state, const Allocation& allocation, std::uint64_t value);

/// Writes the type of a sample that take() removed. Call it before the allocator gets the memory.
/// Does nothing if the sample is not an object of an interpreter whose types can be read.
void record_object_type(std::uint64_t taken);

}  // namespace geiger::capture
