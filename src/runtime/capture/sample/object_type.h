// The types of sampled objects of Python, read while their memory is still theirs: when some more
// samples have followed, for those that live then, and at the free.
//
// Nothing that is freed is trusted. The interpreter may have used the object's words for a list of
// free objects, or have cleared its class, whose name is then known if it was seen before. What is
// not a type, or has no name, is not written. Up to 3.11 a collection can run between an object's
// allocation and its header: it has no references then, and the type at its free holds.
//
// Threads / Signals: as capture.h; the thread has the interpreter's lock. System calls: one or two
// per free, more for each new type and for blocks that are not objects; as python/interpreter.h, if
// checked. Allocates: a name per type, from the arena.
#pragma once

#include <cstdint>

#include "runtime/capture/capture.h"

namespace geiger::capture {

/// Call after each sample of an interpreter's object, with its value in the live table or 0. Writes
/// the type of an earlier one of the thread, if that is still live.
void follow_object(Segment& segment, ThreadState& state, const void* address, std::uint64_t value);

/// Writes the type of a sample that take() removed. Call it before the allocator gets the memory.
/// Does nothing if the sample is not an object of an interpreter whose types can be read.
void record_object_type(std::uint64_t taken);

}  // namespace geiger::capture
