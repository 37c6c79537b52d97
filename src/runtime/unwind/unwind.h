// Stack walks from inside the host program's malloc. The processor's share is in machine.h.
//
//   walk                          one pass over (ip, sp, bp); a few ns per frame
//    +- rule of an ip             rules.h: lock-free cache, else
//    |   +- module of the ip      modules.h: _dl_find_object, identity checked
//    |   +- row of the tables     cfi.h: .eh_frame_hdr -> FDE -> CIE -> row.h
//    +- step                      bounded reads of the stack: stack_memory.h
//   walk with all registers       full_walk.h: only when a rule asks for other registers
//
// Symbols and the choice of frames to hide are not handled here. No libgcc, no libunwind, no
// dl_iterate_phdr: those lock or allocate.
//
// Threads: every function may run in any number of threads at once.
// Signals: async-signal-safe, also when the signal interrupted the same function.
// Fork:    nothing to repair in the child; half-done work of other threads is
//          never waited for.
// Allocates: never. System calls: none on known stacks; on unknown ones at most
//          one per page of stack (see StackBounds). errno is left alone.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/attributes.h"
#include "runtime/unwind/machine.h"

namespace geiger::unwind {

/// A point of execution: `ip` is a return address, `sp` the stack pointer just
/// after that return, `bp` the value of the frame pointer's register (rbp, x29) there.
struct Registers {
  std::uint64_t ip, sp, bp;
};

/// Addresses, end exclusive.
struct AddressRange {
  std::uint64_t start, end;

  [[nodiscard]] bool holds(std::uint64_t address) const { return address - start < end - start; }
};

/// [low, high): where frames of this thread lie. Everything from a live stack
/// pointer inside up to `high` must be mapped. high = 0: unknown (fibers).
/// A walk that leaves the range (alternate signal stacks) or has none accepts
/// growing frames of at most 1 MiB and asks the kernel once for every page of
/// stack that it did not stand on.
struct StackBounds {
  std::uint64_t low, high;
};

/// A loaded module in which a frame lay, as the loader knew it at that time.
/// The pointers are valid as long as the module stays loaded, that is as long
/// as one of its frames is on the walked stack.
struct Module {
  std::uint64_t start, end;  ///< Mapped addresses, end exclusive.
  std::uint64_t bias;        ///< Run-time address minus ELF vaddr.
  const void* link_map;
  const void* eh_frame_hdr;  ///< Null: the module has no table.
  std::uint32_t id;          ///< Dense, from 1; 0 = none.
  std::uint32_t build_id_bytes;
  std::uint8_t build_id[32];  ///< GNU build id, zero behind build_id_bytes.
};

/// Modules beyond this many get no id; their frames are still walked.
inline constexpr std::uint32_t kMaxModules = 4096;

enum class Mode : std::uint8_t {
  kAuto,           ///< Tables, and frame pointers where there are none.
  kFramePointers,  ///< Frame pointers; tables only for ends and signal frames.
};

/// One walked stack, leaf first. Every entry is a return address: subtract 1 to
/// get into the call. (A frame that a signal interrupted is recorded as ip + 1,
/// so that this holds for it too.)
struct Trace {
  std::uint64_t* frames;
  std::size_t capacity;
  std::size_t count = 0;
  /// The walk stopped before the outermost frame: no room, no rule, bad memory.
  bool truncated = false;
  /// Over frames and their module ids; differs when another module lies at the
  /// same addresses.
  std::uint64_t hash = 0;
  /// If not null, has room for `capacity` as well, and gets the stack pointer of each frame: frame
  /// i lies from stack_pointers[i] up to stack_pointers[i + 1].
  std::uint64_t* stack_pointers = nullptr;
  /// So many frames at the leaf are those of signal handlers.
  std::size_t handler_frames = 0;
};

/// Finds the loader's lookup of modules and takes the modules mapped now as
/// permanent: frames in them are not checked against the loader again. To be called
/// before any module can have been loaded by dlopen. Runs once: while a call is
/// under way others return at once, and walks follow frame pointers only.
///
/// glibc < 2.35 has no lookup that is safe inside malloc. There the tables of
/// permanent modules are used, frames of other modules are stepped over by frame
/// pointer, and a walk that cannot go on is truncated.
void init();

/// init() for a runtime that is brought into a running process: any module may be unloaded, so
/// frames in all of them are checked.
void init_late();

/// Walks from `start` to the outermost frame; frames[0] = start.ip. `start` must
/// be a live point of this thread's stack, or garbage: then the walk is short.
/// Bounded: at most `capacity` frames, two passes.
void walk(const Registers& start, const StackBounds& bounds, Mode mode, Trace& out);

/// The first point from `start` on whose code is in neither range: the caller of two libraries of
/// which one calls the other. `start` itself if there is none within a few frames.
[[nodiscard]] Registers leave(const Registers& start, const StackBounds& bounds,
                              const AddressRange& one, const AddressRange& other);

/// Brings the rules of frames that the next walk may meet into the processor's caches. It waits for
/// none of them; a walk without it would for each, as only a frame's rule tells where the next is.
void expect(const std::uint64_t* frames, std::size_t count);

/// Modules seen so far, by any walk; their ids are 1..modules_known(). All
/// modules of a finished walk are known.
[[nodiscard]] std::uint32_t modules_known();

/// `id` in 1..modules_known(). Never changes once known.
[[nodiscard]] const Module& module(std::uint32_t id);

/// Where the calling function will return to. The calling function gets a frame
/// pointer of its own by this, and must not itself be inlined.
GEIGER_FAST_PATH Registers caller_registers() {
  const auto* frame = static_cast<const std::uint64_t*>(__builtin_frame_address(0));
  const auto ip = reinterpret_cast<std::uint64_t>(__builtin_return_address(0));
  return {machine::stripped(ip), machine::stack_pointer_after(), frame[0]};
}

}  // namespace geiger::unwind
