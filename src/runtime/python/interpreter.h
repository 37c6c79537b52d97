// The CPython of this process: found by the modules that stacks go through, asked by the functions
// that it exports.
//
// Threads, signals: lock-free; one thread fills in what it finds while others go on without.
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
  std::uint32_t version;  ///< As Py_Version.
  Layout layout;
  Address code_type;
  base::CodeRange eval;  ///< Of the interpreter's loop; where Layout::runs is kPerFrame.
  void* (*own_state)();
  void* (*attached_state)();
  int (*is_finalizing)();
  std::atomic<InterpretedFrames> frames;
  std::atomic<vocabulary::SmallObjects> small_objects;
  /// Of the first walks, which are checked: how many went through several runs, how many through
  /// several frames, and how many made no sense.
  std::atomic<std::uint32_t> tried, tried_in_runs, failed;
};

/// Looks at the modules that stacks went through since the last look. A comparison if there are
/// none.
void look_at_modules();

/// Null until one is found. Never changes to another one: of two in a process the first is used.
[[nodiscard]] Interpreter* interpreter();

/// Whether its module is still loaded where it was found.
[[nodiscard]] bool is_loaded(const Interpreter& interpreter);

/// The state of the calling thread, 0 if the interpreter does not know the thread or ends, and how
/// its frames may be read.
struct OwnState {
  Address state;
  Trust trust;
};
[[nodiscard]] OwnState own_state(const Interpreter& interpreter);

}  // namespace geiger::python
