// Preloaded into a Python program: at every sample writes what CPython itself says of the thread's
// stack, by the function that its fault handler uses. GEIGER_ORACLE names the file,
// GEIGER_ORACLE_DUMP the distance of _Py_DumpTraceback from PyGILState_GetThisThreadState, as most
// builds do not export it.
#include <dlfcn.h>
#include <fcntl.h>
#include <geiger/geiger.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>

namespace {

using GetState = void*();
using Dump = void(int, void*);

GetState* own_state = nullptr;
GetState* attached_state = nullptr;
Dump* dump = nullptr;
bool is_fragile = false;  ///< GEIGER_ORACLE_FRAGILE
int file = -1;
std::atomic_flag is_busy = ATOMIC_FLAG_INIT;

template <typename Function>
bool find(const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
  return function != nullptr;
}

/// Not before the interpreter is loaded: an embedded one comes late.
bool has_interpreter() {
  if (dump != nullptr) return true;
  const char* distance = getenv("GEIGER_ORACLE_DUMP");
  if (distance == nullptr || !find("PyGILState_GetThisThreadState", own_state)) return false;
  if (!find("PyThreadState_GetUnchecked", attached_state) &&
      !find("_PyThreadState_UncheckedGet", attached_state)) {
    return false;
  }
  dump = reinterpret_cast<Dump*>(reinterpret_cast<char*>(own_state) + strtoll(distance, nullptr, 0));
  return true;
}

/// 3.13.0 falls over frames without code, which a thread has while one is cleared and at the border
/// to C: those stacks are left out.
bool falls_over(const char* state) {
  const auto word = [](const char* at) { return *reinterpret_cast<const char* const*>(at); };
  static const char* code_type = static_cast<const char*>(dlsym(RTLD_DEFAULT, "PyCode_Type"));
  constexpr int kFrameOfState = 72, kPrevious = 8, kOwner = 70, kOwnedByC = 3, kType = 8;
  bool is_top = true;
  for (const char* frame = word(state + kFrameOfState); frame != nullptr;
       frame = word(frame + kPrevious)) {
    const bool is_border = frame[kOwner] == kOwnedByC;
    if (is_border ? is_top : word(word(frame) + kType) != code_type) return true;
    is_top = false;
  }
  return false;
}

// A line before and one after, so that a stack that another thread's or a handler's was written
// into is seen and passed over.
void on_sample(void*, const geiger_sample* sample) {
  if (!has_interpreter() || is_busy.test_and_set()) return;
  void* state = own_state();
  const bool is_attached = state != nullptr && attached_state() == state;
  if (is_attached && (!is_fragile || !falls_over(static_cast<const char*>(state)))) {
    char line[80];
    const int bytes = std::snprintf(line, sizeof line, "begin %llu %llu\n",
                                    static_cast<unsigned long long>(sample->time),
                                    static_cast<unsigned long long>(sample->address));
    (void)!write(file, line, static_cast<std::size_t>(bytes));
    dump(file, state);
    (void)!write(file, "end\n", 4);
  }
  is_busy.clear();
}

/// In a process without the runtime, as geiger itself, nothing is listened to.
[[gnu::constructor]] void begin() {
  const char* path = getenv("GEIGER_ORACLE");
  if (path == nullptr) return;
  is_fragile = getenv("GEIGER_ORACLE_FRAGILE") != nullptr;
  file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  geiger_listener listener;
  (void)geiger_add_listener(on_sample, nullptr, nullptr, &listener);
}

}  // namespace
