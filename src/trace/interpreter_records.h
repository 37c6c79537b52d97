// The records of an interpreter in the process: its version, the functions of its program, and what
// it has to say of sampled objects.
#pragma once

#include <cstdint>

#include "trace/records.h"
#include "vocabulary/interpreter.h"

namespace geiger::trace {

/// The frame of a function that an interpreter runs, as a word of a stack: bit 63 | kind 7 | code
/// 32 | offset 24, from the top. No address has bit 63. It follows the native frame of the
/// interpreter's loop that runs it, which is nearer to the leaf; the frames of one loop are
/// adjacent, the callee first.
struct InterpretedFrame {
  Ref code;              ///< Its CodeRecord.
  std::uint32_t offset;  ///< Of its instruction in its code, in units of 2 bytes, or kNotBegun.

  static constexpr std::uint64_t kMark = std::uint64_t{1} << 63;
  static constexpr std::uint64_t kPython = std::uint64_t{1} << 56;
  static constexpr std::uint32_t kNotBegun = 0xffffff;

  [[nodiscard]] static constexpr bool is_one(std::uint64_t word) {
    return (word & (kMark | 0x7f * kPython)) == (kMark | kPython);
  }
  [[nodiscard]] constexpr std::uint64_t pack() const {
    return kMark | kPython | std::uint64_t{code} << 24 | offset;
  }
  [[nodiscard]] static constexpr InterpretedFrame unpack(std::uint64_t word) {
    return {static_cast<Ref>(word >> 24), static_cast<std::uint32_t>(word & kNotBegun)};
  }
};

/// A function of an interpreted program, written before the first stack that refers to it. Name,
/// file and line table follow, as the interpreter has them (UTF-8; bytes), padded to a word.
struct CodeRecord {
  std::uint64_t header;
  Ref interpreter;  ///< The InterpreterRecord that says how to read the line table.
  std::int32_t first_line;
  std::uint32_t name_bytes;   ///< Qualified name, from Python 3.11 on; else the plain one.
  std::uint32_t file_bytes;   ///< Path as the program gave it.
  std::uint32_t lines_bytes;  ///< Line table.
  std::uint32_t reserved;
};
static_assert(sizeof(CodeRecord) == 32);

/// An interpreter of the process, written before its first CodeRecord in each segment and again
/// when `frames` or `small_objects` changes: the latest one with a `start` holds.
struct InterpreterRecord {
  std::uint64_t header;
  std::uint64_t time;
  std::uint64_t start;    ///< First address of its module.
  std::uint32_t version;  ///< As Py_Version: 0x030b02f0 is 3.11.2.
  vocabulary::InterpretedFrames frames;
  vocabulary::SmallObjects small_objects;
  std::uint32_t reserved;
};
static_assert(sizeof(InterpreterRecord) == 40);

/// The type of a sampled object, as an interpreter has it, of a sample whose own record gives none.
/// The latest one holds.
struct ObjectTypeRecord {
  std::uint64_t header;
  Ref sample;
  Ref type;  ///< Its NameRecord.
};
static_assert(sizeof(ObjectTypeRecord) == 16);

}  // namespace geiger::trace
