// The CPython of this process: found among the modules in stacks, and queried through the functions
// that it exports.
//
// Threads, signals: lock-free; one thread fills in its findings while others continue without them.
// Fork: the child keeps what its parent found. Allocates: never.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/loaded_symbol.h"
#include "base/units.h"
#include "runtime/python/layout.h"
#include "runtime/python/memory.h"
#include "vocabulary/interpreter.h"

struct link_map;

namespace geiger::python {

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
  /// Counts of the first walks, which are checked: through several runs, through several frames,
  /// and implausible ones.
  std::atomic<std::uint32_t> tried, tried_in_runs, failed;
};

/// Looks for an interpreter in modules found in stacks since the last call. Only a comparison if
/// there are none.
void look_at_modules();

/// Null until one is found. Never changes: of two in a process the first is used.
[[nodiscard]] Interpreter* interpreter();

/// Whether its module is still loaded where it was found.
[[nodiscard]] bool is_loaded(const Interpreter& interpreter);

/// The state of the calling thread, 0 if the interpreter does not know the thread or is shutting
/// down, and how to read its frames.
struct OwnState {
  Address state;
  Trust trust;
};
[[nodiscard]] OwnState own_state(const Interpreter& interpreter);

}  // namespace geiger::python
