// The CPython of this process: found among the modules in stacks, and queried through the functions
// that it exports.
//
// Threads, signals: lock-free; one thread fills in its findings while others continue without them.
// Fork: the child keeps what its parent found. Allocates: never.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/loader.h"
#include "base/units.h"
#include "vocabulary/vocabulary.h"

struct link_map;

namespace geiger::python {

// Reads of the interpreter's memory.
//
// A thread that holds the interpreter's lock, and that no signal interrupted, may follow its own
// frames as the interpreter itself does. Otherwise the memory may be changing or freed: then the
// kernel reads each word, so that an unmapped word does not cause a fault.
//
// Threads, signals: a value of its walk. System calls: none, or one per read if checked; they fail
// in programs that restrict their own. errno is preserved.

enum class Trust : std::uint8_t {
  kDirect,   ///< The memory is this thread's own, and consistent.
  kChecked,  ///< The kernel reads.
};

class Memory {
 public:
  explicit Memory(Trust trust) : trust_(trust) {
    if (trust == Trust::kChecked) [[unlikely]]
      pid_ = own_pid();
  }

  /// User space of x86-64, without the page at 0 and without an object's size at the end.
  [[nodiscard]] static bool is_plausible(Address address) {
    constexpr Address kFirst = 4096;
    constexpr Address kLast = (Address{1} << 47) - 4096 - (Address{1} << 16);
    return address - kFirst < kLast - kFirst;
  }

  /// False: not an address of an object, or not mapped.
  template <typename Value>
  [[gnu::always_inline]] bool read(Address address, Value& value) const {
    return is_plausible(address) && read_member(address, 0, value);
  }

  /// A member of an object whose address is plausible. False: not mapped.
  template <typename Value>
  [[gnu::always_inline]] bool read_member(Address object, std::uint16_t offset,
                                          Value& value) const {
    if (trust_ == Trust::kChecked) [[unlikely]] {
      return ask_kernel(pid_, object + offset, &value, sizeof value);
    }
    load(object + offset, &value, sizeof value);
    return true;
  }

  /// Bytes of a string or a table.
  bool read(Address address, void* bytes, std::size_t count) const {
    if (!is_plausible(address)) return false;
    if (trust_ == Trust::kChecked) return ask_kernel(pid_, address, bytes, count);
    load(address, bytes, count);
    return true;
  }

 private:
  [[gnu::no_sanitize_address, gnu::no_sanitize_thread, gnu::always_inline]] static void load(
      Address address, void* bytes, std::size_t count) {
    __builtin_memcpy(bytes, reinterpret_cast<const void*>(address), count);
  }

  static long own_pid();
  static bool ask_kernel(long pid, Address address, void* bytes, std::size_t count);

  Trust trust_;
  long pid_ = 0;  ///< If checked.
};

// The offsets, in bytes, that a walk over the frames of a version of CPython needs.
//
// Up to 3.12 they come from each version's headers (Include/internal/pycore_frame.h, pycore_code.h,
// cpython/pystate.h), and from the member table of its code type. From 3.13 on the interpreter
// publishes them in _PyRuntime (pycore_debug_offsets.h, meant for debuggers and profilers).

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

using vocabulary::InterpretedFrames;

struct Interpreter {
  const link_map* map;
  Address start;          ///< Of its module.
  std::uint32_t module;   ///< Its id for unwind.
  std::uint32_t version;  ///< Like Py_Version.
  Layout layout;
  Address code_type;
  base::CodeRange eval;  ///< Of the interpreter's loop; if Layout::runs is kPerFrame.
  void* (*own_state)();
  void* (*attached_state)();
  int (*is_finalizing)();
  std::atomic<InterpretedFrames> frames;
  std::atomic<vocabulary::SmallObjects> small_objects;
  std::atomic<std::uint64_t> finalizing_from;  ///< CLOCK_MONOTONIC, as finalizing_from() says.
  /// Counts of the first walks, which are checked: through several runs, through several frames,
  /// and implausible ones.
  std::atomic<std::uint32_t> tried, tried_in_runs, failed;
};

/// Looks for an interpreter in modules found in stacks since the last call. Only a comparison if
/// there are none.
void look_at_modules();

/// Null until one is found. Never changes: of two in a process the first is used.
[[nodiscard]] Interpreter* interpreter();

/// Whether its module is still loaded where it was found: only then may it be asked anything.
[[nodiscard]] bool is_loaded(const Interpreter& interpreter);

/// CLOCK_MONOTONIC, when the interpreter was first seen to finalize: after its threads were joined
/// and its exit functions had run, before it frees modules and objects. 0: it is not finalizing, or
/// was initialized again. The interpreter must be loaded.
[[nodiscard]] Nanoseconds finalizing_from(Interpreter& interpreter);

/// The state of the calling thread, 0 if the interpreter does not know the thread or is shutting
/// down, and how to read its frames.
struct OwnState {
  Address state;
  Trust trust;
};
[[nodiscard]] OwnState own_state(const Interpreter& interpreter);

}  // namespace geiger::python
