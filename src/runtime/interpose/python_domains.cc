#include "runtime/interpose/python_domains.h"

#include <string.h>

#include <atomic>

#include "base/loader.h"
#include "runtime/capture/image/image.h"
#include "runtime/capture/program/mappings.h"
#include "runtime/capture/sample/object_type.h"
#include "runtime/capture/thread/thread_state.h"
#include "runtime/interpose/conclude.h"
#include "runtime/unwind/unwind.h"

namespace geiger::interpose {
namespace {

using capture::Decision;
using capture::Memory;
using python::Interpreter;
using trace::EntryPoint;
using unwind::caller_registers;
using unwind::Registers;
using vocabulary::SmallObjects;

/// PyMemAllocatorEx.
struct Allocator {
  void* context;
  void* (*malloc)(void*, std::size_t);
  void* (*calloc)(void*, std::size_t, std::size_t);
  void* (*realloc)(void*, void*, std::size_t);
  void (*free)(void*, void*);

  [[nodiscard]] bool operator==(const Allocator& other) const {
    return context == other.context && malloc == other.malloc && free == other.free;
  }
};

/// PyMemAllocatorDomain.
enum Domain : int { kRaw = 0, kMem = 1, kObject = 2 };

using GetAllocator = void(int, Allocator*);
using SetAllocator = void(int, Allocator*);

/// The original allocators, by domain.
constinit Allocator before[3]{};

/// The thread's count so far: changes as soon as an allocator below us counts. A certain object, as
/// large as the interval, leaves the countdown unchanged, but settles.
struct Counted {
  std::uint64_t countdown, allocated;
  [[nodiscard]] bool operator==(const Counted&) const = default;
};

GEIGER_FAST_PATH Counted counted_so_far() {
  const capture::ThreadState* state = capture::own_state();
  return {capture::tls.countdown,
          state == nullptr ? 0 : state->allocated.load(std::memory_order_relaxed)};
}

/// The largest size that pymalloc serves from its pools.
constexpr std::size_t kLargestSmall = 512;
constexpr std::size_t kPoolAlignment = 16;
bool is_small(std::size_t size) { return size - 1 < kLargestSmall; }

constexpr EntryPoint malloc_of(Domain domain) {
  return domain == kObject ? EntryPoint::kPyObjectMalloc : EntryPoint::kPyMemMalloc;
}
constexpr EntryPoint calloc_of(Domain domain) {
  return domain == kObject ? EntryPoint::kPyObjectCalloc : EntryPoint::kPyMemCalloc;
}
constexpr EntryPoint realloc_of(Domain domain) {
  return domain == kObject ? EntryPoint::kPyObjectRealloc : EntryPoint::kPyMemRealloc;
}

/// Like conclude(), for a block of a pool, whose usable size no malloc can report.
void conclude_small(const Decision& decision, void* pointer, std::size_t size,
                    EntryPoint entry_point, const Registers& caller) {
  if (pointer == nullptr) return capture::retract(decision, size);
  const std::size_t usable = (size + kPoolAlignment - 1) & ~(kPoolAlignment - 1);
  if (decision.is_sample)
    capture::record(decision, {pointer, size, usable, entry_point, 0}, caller);
  look_after_python(decision);
}

template <Domain kDomain>
GEIGER_SLOW_PATH void* malloc_slow(void* context, std::size_t size) {
  const Decision decision = capture::decide(size, Memory::kPool);
  void* pointer = before[kDomain].malloc(context, size);
  conclude_small(decision, pointer, size, malloc_of(kDomain), caller_registers());
  return pointer;
}

template <Domain kDomain>
GEIGER_SLOW_PATH void* calloc_slow(void* context, std::size_t count, std::size_t size) {
  const Decision decision = capture::decide(count * size, Memory::kPool);
  void* pointer = before[kDomain].calloc(context, count, size);
  conclude_small(decision, pointer, count * size, calloc_of(kDomain), caller_registers());
  return pointer;
}

template <Domain kDomain>
GEIGER_SLOW_PATH void free_slow(void* context, void* pointer) {
  capture::release(pointer, caller_registers());
  before[kDomain].free(context, pointer);
}

/// Counts a block that exists already.
GEIGER_SLOW_PATH void* count_slow(void* pointer, std::size_t size, EntryPoint entry_point) {
  conclude_small(capture::decide(size, Memory::kPool), pointer, size, entry_point,
                 caller_registers());
  return pointer;
}

/// The old block may be a sample, which ends here; the new block is counted by malloc or below.
template <Domain kDomain>
GEIGER_SLOW_PATH void* realloc_known_slow(void* context, void* old, std::size_t size) {
  const std::uint64_t taken = capture::take(old);
  capture::record_object_type(taken);
  const Counted counted = counted_so_far();
  void* pointer = before[kDomain].realloc(context, old, size);
  if (pointer == nullptr && size != 0) {
    capture::put_back(old, taken);
    return pointer;
  }
  capture::settle_taken(taken, caller_registers());
  if (pointer != nullptr && counted_so_far() == counted && capture::exhausts(size)) {
    conclude_small(capture::decide(size, Memory::kPool), pointer, size, realloc_of(kDomain),
                   caller_registers());
  }
  return pointer;
}

template <Domain kDomain>
void py_free(void* context, void* pointer) {
  if (capture::filter.maybe_holds(pointer)) [[unlikely]]
    return free_slow<kDomain>(context, pointer);
  before[kDomain].free(context, pointer);
}

template <Domain kDomain>
void* py_realloc(void* context, void* old, std::size_t size) {
  if (capture::filter.maybe_holds(old)) [[unlikely]]
    return realloc_known_slow<kDomain>(context, old, size);
  const Counted counted = counted_so_far();
  void* pointer = before[kDomain].realloc(context, old, size);
  if (pointer != nullptr && counted_so_far() == counted && capture::exhausts(size)) [[unlikely]] {
    return count_slow(pointer, size, realloc_of(kDomain));
  }
  return pointer;
}

/// Our functions in front of pymalloc.
template <Domain kDomain>
struct OfPools {
  static void* malloc(void* context, std::size_t size) {
    if (is_small(size) && capture::exhausts(size)) [[unlikely]]
      return malloc_slow<kDomain>(context, size);
    return before[kDomain].malloc(context, size);
  }

  static void* calloc(void* context, std::size_t count, std::size_t size) {
    std::size_t bytes = 0;
    if (!__builtin_mul_overflow(count, size, &bytes) && is_small(bytes) && capture::exhausts(bytes))
        [[unlikely]] {
      return calloc_slow<kDomain>(context, count, size);
    }
    return before[kDomain].calloc(context, count, size);
  }

  static constexpr Allocator functions(void* context) {
    return {context, malloc, calloc, py_realloc<kDomain>, py_free<kDomain>};
  }
};

/// Our functions in front of any other allocator, which may serve a block itself or call malloc.
template <Domain kDomain>
struct OfOthers {
  static void* malloc(void* context, std::size_t size) {
    const Counted counted = counted_so_far();
    void* pointer = before[kDomain].malloc(context, size);
    if (pointer != nullptr && counted_so_far() == counted && capture::exhausts(size)) [[unlikely]] {
      return count_slow(pointer, size, malloc_of(kDomain));
    }
    return pointer;
  }

  static void* calloc(void* context, std::size_t count, std::size_t size) {
    const Counted counted = counted_so_far();
    void* pointer = before[kDomain].calloc(context, count, size);
    if (pointer != nullptr && counted_so_far() == counted && capture::exhausts(count * size))
        [[unlikely]] {
      return count_slow(pointer, count * size, calloc_of(kDomain));
    }
    return pointer;
  }

  static constexpr Allocator functions(void* context) {
    return {context, malloc, calloc, py_realloc<kDomain>, py_free<kDomain>};
  }
};

// ------------------------------------------------------------- in and out ---

enum class Stage : std::uint32_t { kNone, kBusy, kInPlace, kLeft };
constinit std::atomic<Stage> stage{Stage::kNone};
constinit bool is_before_pools = false;
constinit std::atomic<std::uint32_t> samples_seen{0};
constexpr std::uint32_t kSamplesPerLook = 64;

struct Access {
  GetAllocator* get;
  SetAllocator* set;
  int (*is_initialized)();
};

bool find_access(const Interpreter& interpreter, Access& access) {
  const auto find = [&](const char* name) { return base::find_symbol(interpreter.map, name); };
  access.get = reinterpret_cast<GetAllocator*>(find("PyMem_GetAllocator"));
  access.set = reinterpret_cast<SetAllocator*>(find("PyMem_SetAllocator"));
  access.is_initialized = reinterpret_cast<int (*)()>(find("Py_IsInitialized"));
  return access.get != nullptr && access.set != nullptr && access.is_initialized != nullptr;
}

Allocator ours(Domain domain) {
  void* context = before[domain].context;
  if (domain == kObject) {
    return is_before_pools ? OfPools<kObject>::functions(context)
                           : OfOthers<kObject>::functions(context);
  }
  return is_before_pools ? OfPools<kMem>::functions(context) : OfOthers<kMem>::functions(context);
}

/// Whether an argument of the interpreter, alone or with the next one, is -X dev.
bool is_development_mode(const char* argument, const char* next) {
  if (argument[0] != '-' || argument[1] == '-') return false;
  const char* option = strchr(argument, 'X');
  if (option == nullptr) return false;
  const char* value = option[1] != '\0' ? option + 1 : next;
  return value != nullptr && strcmp(value, "dev") == 0;
}

/// Whether the interpreter will choose its allocators at its start, and discard those set before.
bool chooses_allocators() {
  if (capture::initial_value("PYTHONMALLOC") != nullptr ||
      capture::initial_value("PYTHONDEVMODE") != nullptr) {
    return true;
  }
  char** arguments = capture::initial_arguments();
  for (; arguments != nullptr && *arguments != nullptr; ++arguments) {
    if (is_development_mode(arguments[0], arguments[1])) return true;
  }
  return false;
}

/// pymalloc maps its arenas with functions that a program can replace. Arenas are pools, whose
/// blocks we count, so their mappings are ignored.
void leave_out_arenas(const Interpreter& interpreter) {
  struct ArenaAllocator {
    void* context;
    void* (*map)(void*, std::size_t);
    void (*unmap)(void*, void*, std::size_t);
  };
  constexpr std::uint64_t kLongest = 128;  // Of either function: a call and a comparison.
  const auto get = reinterpret_cast<void (*)(ArenaAllocator*)>(
      base::find_symbol(interpreter.map, "PyObject_GetArenaAllocator"));
  if (get == nullptr) return;
  ArenaAllocator arenas{};
  get(&arenas);
  for (const auto start : {reinterpret_cast<std::uint64_t>(arenas.map),
                           reinterpret_cast<std::uint64_t>(arenas.unmap)}) {
    capture::leave_out(unwind::AddressRange{start, start + kLongest});
  }
}

SmallObjects go_before(const Interpreter& interpreter, const Access& access) {
  Allocator raw{};
  Allocator memory{};
  Allocator object{};
  access.get(kRaw, &raw);
  access.get(kMem, &memory);
  access.get(kObject, &object);
  if (object.malloc == raw.malloc) return SmallObjects::kByMalloc;
  is_before_pools = object == memory && object.context == nullptr;
  before[kMem] = memory;
  before[kObject] = object;
  for (const Domain domain : {kMem, kObject}) {
    Allocator functions = ours(domain);
    access.set(domain, &functions);
  }
  leave_out_arenas(interpreter);
  return SmallObjects::kSampled;
}

/// If the interpreter has restored its functions, installs ours again. Other functions were
/// installed in front of ours and call them, or are unknown.
SmallObjects look_again(const Access& access) {
  bool is_known = true;
  for (const Domain domain : {kMem, kObject}) {
    Allocator now{};
    Allocator functions = ours(domain);
    access.get(domain, &now);
    if (now == functions) continue;
    if (now == before[domain]) {
      access.set(domain, &functions);
    } else {
      is_known = false;
    }
  }
  return is_known ? SmallObjects::kSampled : SmallObjects::kNotKnown;
}

/// Whether this thread may call the interpreter now.
bool may_ask(const Decision& decision) {
  return decision.is_sample && decision.state->holds_interpreter;
}

}  // namespace

GEIGER_SLOW_PATH void look_after_domains(const Decision& decision) {
  Interpreter& interpreter = *python::interpreter();
  Stage found = stage.load(std::memory_order_acquire);
  if (decision.state == nullptr || found == Stage::kBusy || found == Stage::kLeft) return;
  if (found == Stage::kInPlace &&
      (!may_ask(decision) || samples_seen.fetch_add(1) % kSamplesPerLook != 0)) {
    return;
  }
  Access access{};
  if (capture::image.settings.python != capture::Settings::Python::kAll ||
      !find_access(interpreter, access)) {
    interpreter.small_objects.store(SmallObjects::kOff, std::memory_order_relaxed);
    return stage.store(Stage::kLeft, std::memory_order_release);
  }
  if (found == Stage::kNone) {
    const bool is_early = access.is_initialized() == 0 && !chooses_allocators();
    if (!is_early && !may_ask(decision)) return;
  }
  if (!stage.compare_exchange_strong(found, Stage::kBusy)) return;
  const SmallObjects objects =
      found == Stage::kNone ? go_before(interpreter, access) : look_again(access);
  interpreter.small_objects.store(objects, std::memory_order_relaxed);
  stage.store(objects == SmallObjects::kByMalloc ? Stage::kLeft : Stage::kInPlace,
              std::memory_order_release);
}

void leave_domains() {
  Access access{};
  if (stage.load(std::memory_order_acquire) != Stage::kInPlace ||
      !find_access(*python::interpreter(), access)) {
    return;
  }
  for (const Domain domain : {kMem, kObject}) {
    Allocator now{};
    access.get(domain, &now);
    if (now == ours(domain)) access.set(domain, &before[domain]);
  }
  stage.store(Stage::kNone, std::memory_order_release);
}

}  // namespace geiger::interpose
