// Records the program's own changes to its address space, which bypass its allocator. Exact: every
// successful call is a record.
//
//   mmap, sbrk    the call, then the record     \  so that by time no range is given
//   munmap        the time, the call, the record/  out before it was given back
//   mremap        both times: it gives one range back and takes another
//
// The allocator's own calls are not recorded: the memory it hands out is tried byte by byte.
// Nothing is recorded while paused. A child by fork has no records of its parent's mappings.
//
// Threads / Signals / Fork: as capture.h; a child by vfork records for its parent,
// whose memory it shares. errno is preserved. Allocates: never.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/units.h"
#include "runtime/unwind/modules.h"
#include "runtime/unwind/unwind.h"

namespace geiger::capture {

/// Ignores calls from this module (a link_map): the allocator, or a tool's library. A few at most.
/// From one thread.
void leave_out(const void* module);
/// Ignores calls from code in that range.
void leave_out(const unwind::AddressRange& callers);

/// mmap returned [address, address + bytes).
void record_map(const void* address, Bytes bytes, int protection, int flags,
                const unwind::Registers& caller);

/// The current time; call it just before munmap and mremap.
[[nodiscard]] Nanoseconds mapping_time();

/// munmap removed [address, address + bytes), some time after `begun`.
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
