// Records what the program does to its address space by itself, past its allocator: exact, every
// successful call is a record.
//
//   mmap, sbrk    the call, then the record     \  so that by time no range is given
//   munmap        the time, the call, the record/  out before it was given back
//   mremap        both times: it gives one range back and takes another
//
// Left out are the calls that the allocator makes for itself: what it hands on is tried byte
// by byte. Nothing is recorded while paused; a child by fork has no record of its parent's
// mappings.
//
// Threads / Signals / Fork: as capture.h; a child by vfork records for its parent,
// whose memory it shares. errno is left alone. Allocates: never.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/units.h"
#include "runtime/unwind/modules.h"
#include "runtime/unwind/unwind.h"

namespace geiger::capture {

/// Calls from this module (a link_map) are its own affair. For the allocator and for
/// libraries of tools; a few. By one thread.
void leave_out(const void* module);
/// Leaves out calls from code in that range.
void leave_out(const unwind::AddressRange& callers);

/// mmap gave [address, address + bytes).
void record_map(const void* address, Bytes bytes, int protection, int flags,
                const unwind::Registers& caller);

/// To be asked before munmap and mremap: when they begin.
[[nodiscard]] Nanoseconds mapping_time();

/// munmap took [address, address + bytes), some time after `begun`.
void record_unmap(const void* address, Bytes bytes, Nanoseconds begun,
                  const unwind::Registers& caller);

/// A range before and after.
struct Remapping {
  const void* old_address;
  Bytes old_bytes;
  const void* address;
  Bytes bytes;
  int flags;  ///< MREMAP_*.
};
void record_remap(const Remapping& remapping, Nanoseconds begun, const unwind::Registers& caller);

/// mprotect changed [address, address + bytes).
void record_protect(const void* address, Bytes bytes, int protection,
                    const unwind::Registers& caller);

/// The program break moved.
void record_break(const void* old_end, const void* end, const unwind::Registers& caller);

}  // namespace geiger::capture
