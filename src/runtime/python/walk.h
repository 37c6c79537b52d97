// The frames of the Python program on a stack, and their places among the native ones.
//
//   own_state       the thread's state, and how to read it               interpreter.h
//   collect         follows its chain of frames, by runs                 interpreter.h
//   merge           puts each run after the native frame that runs it
//
// Merging is by address. Each activation of the interpreter's loop keeps a part of the chain in its
// own native frame, so the run belongs to the frame i with
//   stack_pointers[i] <= address < stack_pointers[i + 1]
// No symbols are needed, so stripped interpreters and code that the compiler split are merged too.
//
// Threads, signals: as unwind.h, except for system calls: interpreter.h. Allocates: never.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/units.h"
#include "runtime/python/interpreter.h"
#include "runtime/unwind/unwind.h"

namespace geiger::python {

// Code objects: the function that a frame runs, and the data to find its lines.
//
// Code objects are freed and their addresses reused, so one is identified by its address and a
// fingerprint of the objects that it refers to.
//
// Threads, signals: as interpreter.h. Allocates: never.

struct Code {
  Address address;
  std::int32_t first_line;
  Address file, name, lines;  ///< Strings, and the bytes of the line table.

  /// Differs for different code, also at the address of a freed code object.
  [[nodiscard]] std::uint64_t key() const;
};

[[nodiscard]] inline bool read_code(const Layout& layout, const Memory& memory, Address address,
                                    Code& code) {
  code.address = address;
  return Memory::is_plausible(address) &&
         memory.read_member(address, layout.first_line, code.first_line) &&
         memory.read_member(address, layout.file, code.file) &&
         memory.read_member(address, layout.name, code.name) &&
         memory.read_member(address, layout.lines, code.lines);
}

/// Whether the code object at its address, which may be read directly, is still the same.
[[nodiscard]] inline bool is_still_there(const Layout& layout, const Code& code) {
  const auto has = [&](std::uint16_t offset, auto value) {
    decltype(value) now{};
    return Memory(Trust::kDirect).read_member(code.address, offset, now) && now == value;
  };
  return has(layout.first_line, code.first_line) && has(layout.file, code.file) &&
         has(layout.name, code.name) && has(layout.lines, code.lines);
}

/// Writes a string object as UTF-8 and returns its length in bytes; cuts the text at a character
/// and sets `is_cut` if it does not fit. 0 if it is not a string.
[[nodiscard]] std::size_t copy_text(const Layout& layout, const Memory& memory, Address object,
                                    char* to, std::size_t room, bool& is_cut);

/// Address and size of the contents of a bytes object; 0 and 0 if it cannot be read.
struct Contents {
  Address start;
  std::size_t bytes;
};
[[nodiscard]] Contents contents_of(const Memory& memory, Address object);

inline constexpr std::uint32_t kNotBegun = 0xffffff;

/// A frame of the program, leaf first.
struct Frame {
  Address code;
  /// Of the first frame of a run: an address in the native frame that runs it, 0 if the interpreter
  /// has none. In all others kSameRun.
  Address native;
  std::uint32_t offset;  ///< Of its instruction, in units of 2 bytes.
};
inline constexpr Address kSameRun = ~Address{0};

struct Frames {
  Frame* frames;
  std::size_t capacity;
  std::size_t count = 0;
  bool is_cut = false;           ///< There are more.
  std::size_t without_code = 0;  ///< Skipped frames.
  /// The thread holds the interpreter's lock, and no signal interrupted it.
  bool is_own = false;
};

enum class Walked : std::uint8_t {
  kFrames,      ///< All frames, possibly none.
  kUnreadable,  ///< Frames could not be read safely, or were implausible.
};

/// Collects the frames of the calling thread, whose native frames are `native`, with stack
/// pointers. The interpreter must be loaded. The first walks of an interpreter are checked; if they are implausible, there are no
/// more.
[[nodiscard]] Walked collect(Interpreter& interpreter, const unwind::Trace& native, Frames& out,
                             Trust& trust);

/// Calls put_native(index) for the frames of `native` and put_frame(frame) for those of `frames`,
/// in the order of the stack, leaf first.
template <typename PutNative, typename PutFrame>
void merge(const Interpreter& interpreter, const unwind::Trace& native, const Frames& frames,
           const PutNative& put_native, const PutFrame& put_frame) {
  std::size_t at = 0;
  for (; at < native.handler_frames; ++at) put_native(at);
  const auto runs = [&](std::size_t index, Address address) {
    if (address == 0) {
      const Address pc = native.frames[index] - 1;
      return pc >= interpreter.eval.start && pc < interpreter.eval.end;
    }
    return index + 1 < native.count && address < native.stack_pointers[index + 1];
  };
  for (std::size_t i = 0; i < frames.count; ++i) {
    const Frame& frame = frames.frames[i];
    if (frame.native != kSameRun) {
      while (at < native.count && !runs(at, frame.native)) put_native(at++);
      if (at < native.count) put_native(at++);
    }
    put_frame(frame);
  }
  for (; at < native.count; ++at) put_native(at);
}

}  // namespace geiger::python
