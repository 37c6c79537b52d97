// The offsets, in bytes, that a walk over the frames of a version of CPython needs.
//
// Up to 3.12 they come from each version's headers (Include/internal/pycore_frame.h, pycore_code.h,
// cpython/pystate.h), and from the member table of its code type. From 3.13 on the interpreter
// publishes them in _PyRuntime (pycore_debug_offsets.h, meant for debuggers and profilers).
#pragma once

#include <cstdint>

#include "base/units.h"
#include "runtime/python/memory.h"

namespace geiger::python {

/// How to separate the frames of one activation of the interpreter's loop, a run, from the next,
/// and which address in that activation's native frame belongs to them.
enum class Runs : std::uint8_t {
  kPerFrame,        ///< 3.8, 3.9: every frame is a run; no address.
  kCframePerFrame,  ///< 3.10: every frame is a run, with a chain of addresses.
  kCframePerEntry,  ///< 3.11: up to the frame marked as entry, with such a chain.
  kShim,            ///< 3.12 and later: up to a frame that is itself on the native stack.
};

struct Layout {
  Runs runs;
  /// Of the thread's state. `chain`: start of the chain of addresses, 0 if there is none.
  std::uint16_t chain, chain_next, thread_id;
  /// The innermost frame: of the first element of the chain, or of the state.
  std::uint16_t frame;
  bool is_frame_in_chain;
  /// Of a frame. The instruction is a pointer into the code, up to 3.10 a number.
  std::uint16_t code, previous, instruction;
  std::uint16_t owner;  ///< Byte: kCframePerEntry: not 0 ends a run; kShim: at least 3 is a shim.
  /// Of a code object.
  std::uint16_t first_line, file, name, lines, bytecode;
  /// Of a string: of its characters, if ASCII and otherwise.
  std::uint16_t ascii_data, other_data;
};

inline constexpr std::uint8_t kShimOwner = 3;

/// The major and minor version in the upper half of Py_Version: 0x030b.
[[nodiscard]] constexpr std::uint32_t minor_of(std::uint32_t version) { return version >> 16; }

enum class Known : std::uint8_t { kYes, kUnknownVersion, kFreeThreaded, kImplausible };

/// Fills in the layout of `version`, in the form of Py_Version. `code_type` and `runtime` are the
/// addresses of PyCode_Type and _PyRuntime.
[[nodiscard]] Known find_layout(std::uint32_t version, Address code_type, Address runtime,
                                Layout& layout);

}  // namespace geiger::python
