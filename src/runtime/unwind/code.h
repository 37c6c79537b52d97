// Rows of code without tables, such as musl's: from what the rest of the function does.
//
// From a pc, every path to a return takes the same words off the stack: how many shows where the
// return address is, and which of them it pops into the saved registers shows where those are. So
// paths are followed forward. This needs neither the start of the function, which no symbol gives
// for a static one, nor its prologue, which may be spread over branches.
//
// Some functions never return from a pc, and some that do are too long. If a word of the stack is
// behind a call of a function from whose start a path leads to the pc, what that path puts on the
// stack shows the same.
//
// A call that does not return may be followed by anything, so a row needs a second proof: the word
// where it finds the return address is behind a call, in the second case behind one of that very
// function.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/unwind/cfi.h"
#include "runtime/unwind/modules.h"
#include "runtime/unwind/stack_memory.h"

namespace geiger::unwind {

// Where functions of code without tables begin, as far as calls and pointers say.

/// The functions of one module that were called by their address, by the words of a stack.
class CalledFunctions {
 public:
  CalledFunctions(const ByteRange& code, std::uint64_t sp, const StackMemory& stack)
      : code_(code), at_(sp), end_(sp + kMostBytes), stack_(stack) {}

  /// False: no other.
  bool next(std::uint64_t& function);

 private:
  static constexpr std::uint64_t kMostBytes = 8192;
  static constexpr std::size_t kMostFunctions = 8;

  bool add(std::uint64_t function);

  ByteRange code_;
  std::uint64_t at_;
  std::uint64_t end_;
  StackMemory stack_;  // Of its own, as reads ahead move the window.
  std::size_t count_ = 0;
  std::uint64_t functions_[kMostFunctions];
};

/// The last address before `pc` that a pointer in the module's data has, or that an instruction
/// near its entry point or near `pc` takes. 0: none. It may be that of a label.
[[nodiscard]] std::uint64_t last_address_taken(const FoundModule& module, std::uint64_t pc);

/// The caller's value of a register.
struct Saved {
  Place place;
  /// Where the path saved the register first: base + offset, as in Path. base 0: it did not.
  std::uint8_t pushed_base;
  std::int32_t pushed_offset;
};

/// Where a path begins: how the stack is aligned there.
enum class Beginning : std::uint8_t { kAnywhere, kAfterCall, kFunction };

/// A point on a path, and what has happened since the path began.
struct Path {
  std::uint64_t at;
  Beginning beginning;
  /// The stack pointer is base + offset, of registers as at the beginning; dwarf::kNoBase: unknown.
  std::uint8_t base;
  std::int32_t offset;
  /// The highest offset so far. Words below it are gone: others may have been pushed since.
  std::int32_t gone;
  Saved saved[kSlots];

  [[nodiscard]] Saved& operator[](Slot slot) { return saved[static_cast<std::size_t>(slot)]; }
};

enum class Flow : std::uint8_t {
  kNext,
  kJump,    ///< To `target` only.
  kBranch,  ///< To `target` or on.
  kReturn,
  kUnknown,  ///< An instruction that is not understood, or whose target is not known.
};

struct Instruction {
  Flow flow;
  std::uint64_t target;
};

namespace machine {

/// Reads one instruction and applies it to `path`, but for `path.at`. Reads only from `code`.
[[nodiscard]] Instruction follow(Cursor& code, Path& path);

/// The row at the beginning of a path that is at its return. False: that path is not one of a
/// function that made a call, or of one that was interrupted.
[[nodiscard]] bool finish(const Path& path, Row& row);

/// The row behind a call, where a path is that began with its function.
[[nodiscard]] bool finish_behind_call(const Path& path, Row& row);

/// Whether a call instruction ends at `at`.
[[nodiscard]] bool is_behind_call(const ByteRange& code, std::uint64_t at);

/// The function that the instruction before `at` calls by its address. 0: none.
[[nodiscard]] std::uint64_t called_before(const ByteRange& code, std::uint64_t at);

/// The greatest address from `low` below `limit` that an instruction in `code` makes a pointer of;
/// `low` if there is none.
[[nodiscard]] std::uint64_t last_address_taken(const ByteRange& code, std::uint64_t low,
                                               std::uint64_t limit);

}  // namespace machine

/// The row of the instruction at `at`, which is next to run. False: no path to a return was
/// understood, or two disagree. Bounded; reads only from `code`.
[[nodiscard]] bool find_row_in_code(const ByteRange& code, std::uint64_t at, bool is_after_call,
                                    FoundRow& found);

/// The row behind the call that ends at `at`, by paths from the start of `function`.
[[nodiscard]] bool find_row_from_start(const ByteRange& code, std::uint64_t function,
                                       std::uint64_t at, FoundRow& found);

/// The row of `pc` in `module`, proved by the frame `at`. It depends on the pc alone, so one frame
/// proves it for all.
[[nodiscard]] bool find_row_of_code(const FoundModule& module, std::uint64_t pc,
                                    const Registers& at, StackMemory& stack, FoundRow& found);

}  // namespace geiger::unwind
