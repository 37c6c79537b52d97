// Stack walks from inside the host program's malloc. Processor-specific parts are in machine.h.
//
//   walk                          one pass over (ip, sp, bp); a few ns per frame
//    +- rule of an ip             rules.h: lock-free cache, else
//    |   +- module of the ip      modules.h: _dl_find_object, identity checked
//    |   +- row of the tables     cfi.h: .eh_frame_hdr -> FDE -> CIE -> row
//    |   +- row of the code       code.h: without tables (x86-64)
//    +- step                      bounded reads of the stack: stack_memory.h
//   walk with all registers       unwind.cc: only when a rule asks for other registers
//
// Symbols and the choice of frames to hide are not handled here. No libgcc, no libunwind, no
// dl_iterate_phdr: those lock or allocate.
//
// Threads: every function may run in any number of threads at once.
// Signals: async-signal-safe, also when the signal interrupted the same function.
// Fork:    nothing to repair in the child, which never waits for unfinished work of other threads.
// Allocates: never. System calls: none on known stacks; on unknown ones at most
//          one per page of stack (see StackBounds). errno is preserved.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/check.h"
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

/// [low, high): the range of this thread's frames. Everything from a live stack pointer inside it
/// up to `high` must be mapped. high = 0: unknown (fibers). A walk outside of the range (alternate
/// signal stacks) or without one accepts frames of at most 1 MiB at growing addresses, and makes
/// one system call for each page of stack that it was not already on.
struct StackBounds {
  std::uint64_t low, high;
};

/// A loaded module with a walked frame, as the loader reported it at that time. The pointers are
/// valid while the module stays loaded, that is, while one of its frames is on the walked stack.
struct Module {
  std::uint64_t start, end;  ///< Mapped addresses, end exclusive.
  std::uint64_t bias;        ///< Run-time address minus ELF vaddr.
  const void* link_map;
  const void* eh_frame_hdr;  ///< Null: the module has no table.
  /// As the loader called it, absolute if it has a directory; "": not known. Stays valid.
  const char* path;
  std::uint32_t id;  ///< Dense, from 1; 0 = none.
  std::uint32_t build_id_bytes;
  std::uint8_t build_id[32];  ///< GNU build id, zero after build_id_bytes.
};

/// Modules beyond this many get no id; their frames are still walked.
inline constexpr std::uint32_t kMaxModules = 4096;

enum class Mode : std::uint8_t {
  kAuto,           ///< Tables, and frame pointers without tables.
  kFramePointers,  ///< Frame pointers; tables only for ends and signal frames.
};

/// One walked stack, leaf first. Every entry is a return address: subtract 1 to get an address in
/// the call. (A frame that a signal interrupted is recorded as ip + 1, so that this holds there
/// too.)
struct Trace {
  std::uint64_t* frames;
  std::size_t capacity;
  std::size_t count = 0;
  /// The walk stopped before the outermost frame: no room, no rule, bad memory.
  bool truncated = false;
  /// Over frames and their module ids; differs if another module is at the same addresses.
  std::uint64_t hash = 0;
  /// Most frames to follow. If more than `capacity`, recursion is folded where there is
  /// no more room; not with stack pointers.
  std::size_t most = 0;
  std::size_t folded = 0;  ///< Frames left out by that.
  /// If not null, has room for `capacity` entries too, and receives the stack pointer of each
  /// frame: frame i extends from stack_pointers[i] to stack_pointers[i + 1].
  std::uint64_t* stack_pointers = nullptr;
  /// Number of frames at the leaf that belong to signal handlers.
  std::size_t handler_frames = 0;
};

/// Finds the loader's lookup of modules and makes the modules loaded now permanent: frames in them
/// are not checked against the loader again. Call it before dlopen can have loaded a module. Runs
/// once: during the call other calls return at once, and walks use only frame pointers.
///
/// glibc < 2.35 has no lookup that is safe inside malloc. There, walks use the tables of permanent
/// modules and frame pointers in other modules, and a walk that cannot continue is truncated.
void init();

/// init() for a runtime loaded into a running process: any module may be unloaded, so frames in all
/// modules are checked.
void init_late();

/// Walks from `start` to the outermost frame; frames[0] = start.ip. `start` must be a live point of
/// this thread's stack; with garbage the walk is short.
/// Bounded: at most `capacity` frames, two passes.
void walk(const Registers& start, const StackBounds& bounds, Mode mode, Trace& out);

/// The first point from `start` on whose code is in neither range: the caller of two libraries, one
/// of which calls the other. `start` itself if there is none within a few frames.
[[nodiscard]] Registers leave(const Registers& start, const StackBounds& bounds,
                              const AddressRange& one, const AddressRange& other);

/// Prefetches the rules of frames that the next walk probably contains. A walk without it waits for
/// each rule in turn, because it needs a frame's rule to find the next frame.
void expect(const std::uint64_t* frames, std::size_t count);

/// Modules seen so far, by any walk; their ids are 1..modules_known(). All
/// modules of a finished walk are known.
[[nodiscard]] std::uint32_t modules_known();

/// `id` in 1..modules_known(). Never changes once known.
[[nodiscard]] const Module& module(std::uint32_t id);

/// The point to which the calling function will return. This gives the calling function a frame
/// pointer; it must not be inlined itself.
GEIGER_FAST_PATH Registers caller_registers() {
  const auto* frame = static_cast<const std::uint64_t*>(__builtin_frame_address(0));
  const auto ip = reinterpret_cast<std::uint64_t>(__builtin_return_address(0));
  return {machine::stripped(ip), machine::stack_pointer_after(), frame[0]};
}

// Folds recursion: a cycle of frames that repeats is kept for two rounds.
//
// The stack keeps its set of frames and its set of pairs of caller and callee, as every round has
// the same ones, so that it passes through the same functions as before. Only how often they repeat
// is lost.

/// Frames of the longest cycle that is recognised.
inline constexpr std::size_t kLongestCycle = 8;

/// Folds `count` frames in place and returns how many are left: at most kLongestCycle passes over
/// them. A cycle that was folded and goes on is folded to the same two rounds.
std::size_t fold(std::uint64_t* frames, std::size_t count);

}  // namespace geiger::unwind
