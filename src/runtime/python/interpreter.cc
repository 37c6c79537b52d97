#include "runtime/python/interpreter.h"

#include <link.h>
#include <pthread.h>
#include <string.h>

#include "base/attributes.h"
#include "runtime/unwind/modules.h"
#include "runtime/unwind/unwind.h"

namespace geiger::python {
namespace {

constinit Interpreter g_interpreter{};
enum Stage : std::uint32_t { kNone = 0, kFilling = 1, kFound = 2 };
constinit std::atomic<std::uint32_t> g_stage{kNone};
constinit std::atomic<std::uint32_t> g_looked{0};

template <typename Function>
bool find(const link_map* map, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(base::find_symbol(map, name));
  return function != nullptr;
}

Address find_variable(const link_map* map, const char* name) {
  return reinterpret_cast<Address>(base::find_variable(map, name));
}

/// Reads a number of at most three digits; `text` is then after it.
std::uint32_t number(const char*& text) {
  std::uint32_t value = 0;
  for (int i = 0; i < 3 && *text >= '0' && *text <= '9'; ++i) {
    value = value * 10 + static_cast<std::uint32_t>(*text++ - '0');
  }
  return value;
}

/// Converts "3.8.18 (default, ..." to the form of Py_Version (3.11 and later); ignores the rest
/// after the third number.
std::uint32_t version_of(const char* text) {
  const std::uint32_t major = number(text);
  if (*text++ != '.') return 0;
  const std::uint32_t minor = number(text);
  if (*text++ != '.') return major << 24 | minor << 16;
  return major << 24 | minor << 16 | number(text) << 8;
}

std::uint32_t ask_version(const link_map* map) {
  if (const Address variable = find_variable(map, "Py_Version"); variable != 0) {
    unsigned long version = 0;
    memcpy(&version, reinterpret_cast<const void*>(variable), sizeof version);
    return static_cast<std::uint32_t>(version);
  }
  const char* (*get_version)() = nullptr;
  return find(map, "Py_GetVersion", get_version) ? version_of(get_version()) : 0;
}

InterpretedFrames reason_of(Known known) {
  switch (known) {
    case Known::kYes:
      return InterpretedFrames::kRecorded;
    case Known::kUnknownVersion:
      return InterpretedFrames::kUnknownVersion;
    case Known::kFreeThreaded:
      return InterpretedFrames::kFreeThreaded;
    case Known::kImplausible:
      break;
  }
  return InterpretedFrames::kImplausible;
}

void fill(const unwind::Module& module, Address runtime) {
  Interpreter& found = g_interpreter;
  found.map = static_cast<const link_map*>(module.link_map);
  found.module = module.id;
  found.start = module.start;
  found.version = ask_version(found.map);
  found.code_type = find_variable(found.map, "PyCode_Type");
  found.eval = base::find_code(found.map, "_PyEval_EvalFrameDefault");
  const bool has_all = find(found.map, "PyGILState_GetThisThreadState", found.own_state) &&
                       (find(found.map, "PyThreadState_GetUnchecked", found.attached_state) ||
                        find(found.map, "_PyThreadState_UncheckedGet", found.attached_state)) &&
                       (find(found.map, "Py_IsFinalizing", found.is_finalizing) ||
                        find(found.map, "_Py_IsFinalizing", found.is_finalizing)) &&
                       found.code_type != 0;
  const Known known = has_all ? find_layout(found.version, found.code_type, runtime, found.layout)
                              : Known::kUnknownVersion;
  found.frames.store(reason_of(known), std::memory_order_relaxed);
}

void look_at(const unwind::Module& module) {
  const Address runtime =
      find_variable(static_cast<const link_map*>(module.link_map), "_PyRuntime");
  std::uint32_t stage = kNone;
  if (runtime == 0 || !g_stage.compare_exchange_strong(stage, kFilling)) return;
  fill(module, runtime);
  g_stage.store(kFound, std::memory_order_release);
}

GEIGER_SLOW_PATH void look_slow(std::uint32_t from, std::uint32_t to) {
  g_looked.store(to, std::memory_order_relaxed);
  unwind::FoundModule found;
  for (std::uint32_t id = from + 1; id <= to; ++id) {
    const unwind::Module& module = unwind::module(id);
    // An unloaded module has no tables to search.
    if (unwind::find_module(module.start, found) && found.id == id) look_at(module);
  }
}

}  // namespace

void look_at_modules() {
  const std::uint32_t known = unwind::modules_known();
  const std::uint32_t looked = g_looked.load(std::memory_order_relaxed);
  if (known > looked) [[unlikely]]
    look_slow(looked, known);
}

Interpreter* interpreter() {
  return g_stage.load(std::memory_order_acquire) == kFound ? &g_interpreter : nullptr;
}

bool is_loaded(const Interpreter& interpreter) {
  unwind::FoundModule found;
  return unwind::find_module(interpreter.start, found) && found.id == interpreter.module;
}

OwnState own_state(const Interpreter& interpreter) {
  auto own = reinterpret_cast<Address>(interpreter.own_state());
  const auto attached = reinterpret_cast<Address>(interpreter.attached_state());
  if (own == attached) return {own, Trust::kDirect};
  // Before 3.12 the attached state belongs to the thread that holds the lock, and differs from the
  // own state of a thread under a subinterpreter.
  constexpr std::uint32_t kAlwaysOwn = 0x030c;
  std::uint64_t thread = 0;
  if (minor_of(interpreter.version) < kAlwaysOwn && attached != 0 &&
      Memory(Trust::kChecked).read(attached + interpreter.layout.thread_id, thread) &&
      thread == pthread_self()) {
    return {attached, Trust::kDirect};
  }
  if (interpreter.is_finalizing() != 0) own = 0;
  return {own, Trust::kChecked};
}

}  // namespace geiger::python
