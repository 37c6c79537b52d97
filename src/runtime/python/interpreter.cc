#include "runtime/python/interpreter.h"

#include <link.h>
#include <pthread.h>
#include <string.h>
#include <sys/uio.h>

#include <cstddef>

#include "base/check.h"
#include "base/clock.h"
#include "base/raw_syscall.h"
#include "runtime/unwind/modules.h"
#include "runtime/unwind/unwind.h"

namespace geiger::python {

GEIGER_SLOW_PATH long Memory::own_pid() { return base::raw_syscall(SYS_getpid); }

GEIGER_SLOW_PATH bool Memory::ask_kernel(long pid, Address address, void* bytes,
                                         std::size_t count) {
  const iovec to{bytes, count};
  const iovec from{reinterpret_cast<void*>(address), count};
  const long got = base::raw_syscall(SYS_process_vm_readv, pid, reinterpret_cast<long>(&to), 1,
                                     reinterpret_cast<long>(&from), 1, 0);
  return got == static_cast<long>(count);
}

namespace {

/// Filled in from the code type before 3.13; the layout of strings depends only on the version.
constexpr std::uint16_t kFromType = 0;

constexpr Layout kFrames38 = {.runs = Runs::kPerFrame,
                              .chain = 0,
                              .chain_next = 0,
                              .thread_id = 176,
                              .frame = 24,
                              .is_frame_in_chain = false,
                              .code = 32,
                              .previous = 24,
                              .instruction = 104,
                              .owner = 0,
                              .first_line = kFromType,
                              .file = kFromType,
                              .name = kFromType,
                              .lines = kFromType,
                              .bytecode = kFromType,
                              .ascii_data = 48,
                              .other_data = 72};

constexpr Layout frames310() {
  Layout layout = kFrames38;
  layout.runs = Runs::kCframePerFrame;
  layout.chain = 48;
  layout.chain_next = 8;
  layout.instruction = 96;
  return layout;
}

constexpr Layout frames311() {
  Layout layout = kFrames38;
  layout.runs = Runs::kCframePerEntry;
  layout.chain = 56;
  layout.chain_next = 16;
  layout.thread_id = 152;
  layout.frame = 8;
  layout.is_frame_in_chain = true;
  layout.previous = 48;
  layout.instruction = 56;
  layout.owner = 68;
  return layout;
}

constexpr Layout frames312() {
  Layout layout = frames311();
  layout.runs = Runs::kShim;
  layout.chain_next = 0;
  layout.frame = 0;
  layout.thread_id = 136;
  layout.code = 0;
  layout.previous = 8;
  layout.owner = 70;
  layout.ascii_data = 40;
  layout.other_data = 56;
  return layout;
}

// ------------------------------------------------- what an interpreter says ---

std::uint16_t offset_at(Address address) {
  std::uint64_t offset = 0;
  memcpy(&offset, reinterpret_cast<const void*>(address), sizeof offset);
  constexpr std::uint64_t kMost = 0xfff;  // Largest offset that we read.
  return static_cast<std::uint16_t>(offset > kMost ? kMost + 1 : offset);
}

bool is_plausible(const Layout& layout) {
  constexpr std::uint16_t kMost = 0xfff;
  const auto is_member = [](std::uint16_t offset) { return offset >= 16 && offset <= kMost; };
  return is_member(layout.first_line) && is_member(layout.file) && is_member(layout.name) &&
         is_member(layout.lines) && layout.bytecode <= kMost && layout.frame <= kMost &&
         layout.previous <= kMost && layout.instruction <= kMost && layout.owner <= kMost;
}

/// A PyMemberDef: name, type, offset, flags, text; 40 bytes. The table is initialised at compile
/// time, so it can be read at any time.
struct Member {
  const char* name;
  std::uint64_t type;
  std::uint64_t offset;
  std::uint64_t flags;
  const char* text;
};
constexpr std::size_t kTypeMembers = 240;   ///< PyTypeObject::tp_members.
constexpr std::size_t kTypeBasicSize = 32;  ///< PyTypeObject::tp_basicsize.
constexpr std::size_t kMostMembers = 64;

std::uint16_t member(Address type, const char* name) {
  const Member* members = nullptr;
  memcpy(&members, reinterpret_cast<const void*>(type + kTypeMembers), sizeof members);
  for (std::size_t i = 0; members != nullptr && i < kMostMembers; ++i) {
    if (members[i].name == nullptr) break;
    if (strcmp(members[i].name, name) == 0)
      return offset_at(reinterpret_cast<Address>(&members[i].offset));
  }
  return 0;
}

Known ask_code_type(std::uint32_t minor, Address code_type, Layout& layout) {
  constexpr std::uint32_t kHasQualifiedNames = 0x030b;
  constexpr std::uint32_t kHasLineTable = 0x030a;
  layout.first_line = member(code_type, "co_firstlineno");
  layout.file = member(code_type, "co_filename");
  layout.name = member(code_type, minor >= kHasQualifiedNames ? "co_qualname" : "co_name");
  layout.lines = member(code_type, minor >= kHasLineTable ? "co_linetable" : "co_lnotab");
  if (minor >= kHasQualifiedNames) layout.bytecode = offset_at(code_type + kTypeBasicSize);
  return is_plausible(layout) ? Known::kYes : Known::kImplausible;
}

/// Indices of 8-byte words from the start of _PyRuntime.
struct Published {
  std::uint32_t minor;
  std::uint16_t frame, previous, code, instruction, owner;
  std::uint16_t file, name, lines, first_line, bytecode, ascii_data;
};
constexpr Published kPublished[] = {
    {0x030d, 23, 29, 30, 31, 33, 35, 37, 38, 39, 43, 70},
    {0x030e, 26, 32, 33, 34, 36, 40, 42, 43, 44, 48, 80},
};
constexpr std::size_t kVersionWord = 1;
constexpr std::size_t kFreeThreadedWord = 2;

Known ask_runtime(const Published& indices, std::uint32_t version, Address runtime,
                  Layout& layout) {
  const auto word = [&](std::size_t index) { return runtime + index * 8; };
  constexpr char kCookie[] = "xdebugpy";
  std::uint64_t published = 0;
  memcpy(&published, reinterpret_cast<const void*>(word(kVersionWord)), sizeof published);
  if (memcmp(reinterpret_cast<const void*>(runtime), kCookie, 8) != 0 || published != version) {
    return Known::kImplausible;
  }
  if (offset_at(word(kFreeThreadedWord)) != 0) return Known::kFreeThreaded;
  layout = frames312();
  layout.chain = 0;
  layout.is_frame_in_chain = false;
  layout.frame = offset_at(word(indices.frame));
  layout.previous = offset_at(word(indices.previous));
  layout.code = offset_at(word(indices.code));
  layout.instruction = offset_at(word(indices.instruction));
  layout.owner = offset_at(word(indices.owner));
  layout.file = offset_at(word(indices.file));
  layout.name = offset_at(word(indices.name));
  layout.lines = offset_at(word(indices.lines));
  layout.first_line = offset_at(word(indices.first_line));
  layout.bytecode = offset_at(word(indices.bytecode));
  layout.ascii_data = offset_at(word(indices.ascii_data));
  layout.other_data = static_cast<std::uint16_t>(layout.ascii_data + 16);
  return is_plausible(layout) ? Known::kYes : Known::kImplausible;
}

}  // namespace

Known find_layout(std::uint32_t version, Address code_type, Address runtime, Layout& layout) {
  const std::uint32_t minor = minor_of(version);
  for (const Published& indices : kPublished) {
    if (indices.minor == minor) return ask_runtime(indices, version, runtime, layout);
  }
  switch (minor) {
    case 0x0308:
    case 0x0309:
      layout = kFrames38;
      break;
    case 0x030a:
      layout = frames310();
      break;
    case 0x030b:
      layout = frames311();
      break;
    case 0x030c:
      layout = frames312();
      break;
    default:
      return Known::kUnknownVersion;
  }
  return ask_code_type(minor, code_type, layout);
}

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
                       found.code_type != 0 && runtime != 0;
  const Known known = has_all ? find_layout(found.version, found.code_type, runtime, found.layout)
                              : Known::kUnknownVersion;
  found.frames.store(reason_of(known), std::memory_order_relaxed);
}

void look_at(const unwind::Module& module) {
  const auto* map = static_cast<const link_map*>(module.link_map);
  const Address runtime = find_variable(map, "_PyRuntime");
  // Before 3.7 there is none: such a version is named, and its frames are not recorded.
  const bool is_interpreter = runtime != 0 || base::find_symbol(map, "Py_InitializeEx") != nullptr;
  std::uint32_t stage = kNone;
  if (!is_interpreter || !g_stage.compare_exchange_strong(stage, kFilling)) return;
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

Nanoseconds finalizing_from(Interpreter& interpreter) {
  if (interpreter.is_finalizing == nullptr) return 0;
  std::uint64_t from = interpreter.finalizing_from.load(std::memory_order_relaxed);
  const bool is_finalizing = interpreter.is_finalizing() != 0;
  if (is_finalizing == (from != 0)) [[likely]]
    return from;
  const Nanoseconds now = is_finalizing ? base::monotonic_now() : 0;
  // The first of several threads that see it decides.
  return interpreter.finalizing_from.compare_exchange_strong(from, now, std::memory_order_relaxed)
             ? now
             : from;
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
