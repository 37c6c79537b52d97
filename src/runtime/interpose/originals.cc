#include "runtime/interpose/originals.h"

#include <errno.h>
#include <string.h>

#include <atomic>
#include <tuple>
#include <type_traits>

#include "base/attributes.h"
#include "base/clock.h"
#include "base/loader.h"
#include "runtime/capture/capture.h"
#include "runtime/capture/control/utilization.h"
#include "runtime/capture/guard/placing.h"
#include "runtime/capture/guard/trap.h"
#include "runtime/capture/program/mappings.h"
#include "runtime/interpose/drawing_allocator.h"
#include "runtime/interpose/elf_lookup.h"
#include "runtime/interpose/private_frees.h"

namespace geiger::interpose {
namespace {

using trace::EntryPoint;

/// First call of a function: resolves its family, then calls the original.
template <auto& kTable, auto kMember, void (*kResolve)()>
struct FirstCall;
template <class Table, Table& kTable, class R, class... A, R (*Table::*kMember)(A...),
          void (*kResolve)()>
struct FirstCall<kTable, kMember, kResolve> {
  static R call(A... arguments) {
    kResolve();
    // NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage): no original is ever null.
    return (kTable.*kMember)(arguments...);
  }
};
template <auto kMember>
using First = FirstCall<originals, kMember, resolve>;
template <auto kMember>
using FirstCxx = FirstCall<cxx_originals, kMember, resolve_cxx>;

template <class F>
void assign(F*& target, const Definition& definition) {
  if (definition.address != nullptr) target = reinterpret_cast<F*>(definition.address);
}

/// The allocator's own definition if it has one, else the next one in search order: what the
/// program would have got without us.
template <class F>
void assign_from(F*& target, const link_map* allocator, const char* name) {
  const Definition own = find_in(allocator, name);
  assign(target, own.address != nullptr ? own : find_next(name));
}

void free_without_size(void* pointer, std::size_t) { originals.free(pointer); }
void free_without_sizes(void* pointer, std::size_t, std::size_t) { originals.free(pointer); }
std::size_t unknown_usable_size(void*) { return 0; }

// Before glibc 2.34 a program without libpthread has none.
int no_threads(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*) { return EAGAIN; }
int no_c11_threads(thrd_t*, thrd_start_t, void*) { return thrd_error; }
void push_nothing(_pthread_cleanup_buffer*, void (*)(void*), void*) {}
void pop_nothing(_pthread_cleanup_buffer*, int) {}

/// At the latest the C library has these.
void assign_aligned(Originals& found, const link_map* allocator) {
  assign_from(found.posix_memalign, allocator, "posix_memalign");
  assign_from(found.memalign, allocator, "memalign");
  assign_from(found.aligned_alloc, allocator, "aligned_alloc");
  assign_from(found.valloc, allocator, "valloc");
  assign_from(found.pvalloc, allocator, "pvalloc");
}

/// Each is set last, with release, and asked first, with acquire: a thread that finds it set calls
/// what another one has found. Entry points read the tables without: what they find before is a
/// first call, which asks here. So slots may be turned without a barrier (attach.cc).
constinit std::atomic<bool> is_resolved{false};
constinit std::atomic<bool> is_cxx_resolved{false};
constinit std::atomic<bool> are_mappings_resolved{false};
constinit std::atomic<bool> is_system_resolved{false};

bool is_set(const std::atomic<bool>& flag) { return flag.load(std::memory_order_acquire); }
void set(std::atomic<bool>& flag) { flag.store(true, std::memory_order_release); }

// ------------------------------------------------------------ operator new ---

/// The operator that throws or calls the handler, for when malloc fails.
constinit CxxOriginals fallbacks{};

void* checked_new(std::size_t size) {
  void* pointer = originals.malloc(size);
  if (pointer != nullptr) [[likely]]
    return pointer;
  return fallbacks.new_plain == nullptr ? nullptr : fallbacks.new_plain(size);
}

void* checked_new_nothrow(std::size_t size, const void* tag) {
  void* pointer = originals.malloc(size);
  if (pointer != nullptr) [[likely]]
    return pointer;
  return fallbacks.new_nothrow == nullptr ? nullptr : fallbacks.new_nothrow(size, tag);
}

/// aligned_alloc wants an alignment of at least a pointer and a size that is a
/// multiple of it.
void* allocate_aligned(std::size_t size, std::size_t alignment) {
  if (alignment < sizeof(void*)) alignment = sizeof(void*);
  const std::size_t rounded = (size + alignment - 1) & ~(alignment - 1);
  return rounded < size ? nullptr : originals.aligned_alloc(alignment, rounded);
}

void* checked_new_aligned(std::size_t size, std::size_t alignment) {
  void* pointer = allocate_aligned(size, alignment);
  if (pointer != nullptr) [[likely]]
    return pointer;
  return fallbacks.new_aligned == nullptr ? nullptr : fallbacks.new_aligned(size, alignment);
}

void* checked_new_aligned_nothrow(std::size_t size, std::size_t alignment, const void* tag) {
  void* pointer = allocate_aligned(size, alignment);
  if (pointer != nullptr) [[likely]]
    return pointer;
  return fallbacks.new_aligned_nothrow == nullptr
             ? nullptr
             : fallbacks.new_aligned_nothrow(size, alignment, tag);
}

// Some other library's operator new calls malloc, which counts: give the bytes
// back that our entry point took off the counter.
template <auto kMember, class... Rest>
void* pass(std::size_t size, Rest... rest) {
  capture::tls.countdown += size;
  return (fallbacks.*kMember)(size, rest...);
}

/// `kFunction`, told to an allocator that draws as the entry point that the program called.
template <EntryPoint kEntryPoint, auto kFunction>
struct Asking;
template <EntryPoint kEntryPoint, class... Rest, void* (*kFunction)(std::size_t, Rest...)>
struct Asking<kEntryPoint, kFunction> {
  static void* call(std::size_t size, Rest... rest) {
    void* const pointer = ask(size, rest...);
    return pointer != nullptr ? pointer : kFunction(size, rest...);
  }

 private:
  /// No more than this: a new handler, and what throws, allocate for themselves and may not return.
  static void* ask(std::size_t size, Rest... rest) {
    const AskedAs asked(kEntryPoint, size);
    return try_new(size, rest...);
  }
};

/// An operator: its symbol, and what may stand for the original in CxxOriginals::*kMember.
template <auto kMember>
struct Operator {
  using Function = std::remove_reference_t<decltype(cxx_originals.*kMember)>;
  const char* symbol;
  Function over_malloc;  ///< Null: free itself, further arguments stay in their registers, unread.
  Function asking;       ///< The same over an allocator that draws.
  Function passing;      ///< To a library's own, which calls malloc; it rarely has aligned ones.
  /// Whether the allocator's own is called. Not its aligned operators new: jemalloc's call
  /// aligned_alloc through the symbol table, which would count twice; ours call the same
  /// aligned_alloc directly.
  bool prefers_own;

  [[nodiscard]] constexpr bool is_new() const { return over_malloc != nullptr; }
};

using Cxx = CxxOriginals;

template <auto kMember>
constexpr Operator<kMember> deleting(const char* symbol) {
  return {symbol, nullptr, nullptr, nullptr, true};
}

/// Libraries rarely have aligned ones of their own that call malloc: nothing to pass.
template <auto kMember, EntryPoint kEntryPoint, auto kOverMalloc, auto kPassing = nullptr>
constexpr Operator<kMember> allocating(const char* symbol) {
  constexpr bool is_aligned = std::is_null_pointer_v<decltype(kPassing)>;
  return {symbol, kOverMalloc, Asking<kEntryPoint, kOverMalloc>::call, kPassing, !is_aligned};
}

constexpr std::tuple kOperators{
    allocating<&Cxx::new_plain, EntryPoint::kNew, checked_new, pass<&Cxx::new_plain>>("_Znwm"),
    allocating<&Cxx::new_array, EntryPoint::kNewArray, checked_new, pass<&Cxx::new_array>>("_Znam"),
    allocating<&Cxx::new_nothrow, EntryPoint::kNew, checked_new_nothrow,
               pass<&Cxx::new_nothrow, const void*>>("_ZnwmRKSt9nothrow_t"),
    allocating<&Cxx::new_array_nothrow, EntryPoint::kNewArray, checked_new_nothrow,
               pass<&Cxx::new_array_nothrow, const void*>>("_ZnamRKSt9nothrow_t"),
    allocating<&Cxx::new_aligned, EntryPoint::kNewAligned, checked_new_aligned>(
        "_ZnwmSt11align_val_t"),
    allocating<&Cxx::new_array_aligned, EntryPoint::kNewArrayAligned, checked_new_aligned>(
        "_ZnamSt11align_val_t"),
    allocating<&Cxx::new_aligned_nothrow, EntryPoint::kNewAligned, checked_new_aligned_nothrow>(
        "_ZnwmSt11align_val_tRKSt9nothrow_t"),
    allocating<&Cxx::new_array_aligned_nothrow, EntryPoint::kNewArrayAligned,
               checked_new_aligned_nothrow>("_ZnamSt11align_val_tRKSt9nothrow_t"),
    deleting<&Cxx::delete_plain>("_ZdlPv"),
    deleting<&Cxx::delete_array>("_ZdaPv"),
    deleting<&Cxx::delete_sized>("_ZdlPvm"),
    deleting<&Cxx::delete_array_sized>("_ZdaPvm"),
    deleting<&Cxx::delete_nothrow>("_ZdlPvRKSt9nothrow_t"),
    deleting<&Cxx::delete_array_nothrow>("_ZdaPvRKSt9nothrow_t"),
    deleting<&Cxx::delete_aligned>("_ZdlPvSt11align_val_t"),
    deleting<&Cxx::delete_array_aligned>("_ZdaPvSt11align_val_t"),
    deleting<&Cxx::delete_sized_aligned>("_ZdlPvmSt11align_val_t"),
    deleting<&Cxx::delete_array_sized_aligned>("_ZdaPvmSt11align_val_t"),
    deleting<&Cxx::delete_aligned_nothrow>("_ZdlPvSt11align_val_tRKSt9nothrow_t"),
    deleting<&Cxx::delete_array_aligned_nothrow>("_ZdaPvSt11align_val_tRKSt9nothrow_t"),
};
static_assert(sizeof(CxxOriginals) == std::tuple_size_v<decltype(kOperators)> * sizeof(void*));

/// Calls visit(operator, its place in `table`) for each.
template <class Visit>
constexpr void for_each_operator(CxxOriginals& table, const Visit& visit) {
  const auto visit_one = [&]<auto kMember>(const Operator<kMember>& each) {
    visit(each, table.*kMember);
  };
  std::apply([&](const auto&... each) { (visit_one(each), ...); }, kOperators);
}

/// Each resolves the family first.
constexpr CxxOriginals first_calls() {
  CxxOriginals table{};
  for_each_operator(
      table,
      []<auto kMember>(const Operator<kMember>&, auto& place) { place = FirstCxx<kMember>::call; });
  return table;
}

void assign_over_malloc(CxxOriginals& table) {
  const Definition free_itself{reinterpret_cast<void*>(originals.free), nullptr};
  for_each_operator(table, [&](const auto& each, auto& place) {
    if (each.is_new()) {
      place = is_told_samples() ? each.asking : each.over_malloc;
    } else {
      assign(place, free_itself);
    }
  });
}

/// What the program would get without us.
void assign_fallbacks() {
  for_each_operator(fallbacks, [](const auto& each, auto& place) {
    if (each.is_new()) assign(place, find_next(each.symbol));
  });
}

/// Replaces the forms that a library defines itself, neither the allocator nor a plain runtime.
void assign_passing(CxxOriginals& table) {
  for_each_operator(
      table, []<auto kMember>(const Operator<kMember>& each, auto& place) {
        if (!each.is_new()) {
          assign(place, find_next(each.symbol));
        } else if (each.passing != nullptr && fallbacks.*kMember != nullptr) {
          place = each.passing;
        }
      });
}

/// The forms that the allocator defines itself; the others stay as they are.
void assign_own(CxxOriginals& table, const link_map* allocator) {
  for_each_operator(table, [&](const auto& each, auto& place) {
    if (each.prefers_own) assign(place, find_in(allocator, each.symbol));
  });
}

/// Libraries that map memory to look at the program, not for it.
bool is_of_a_tool(const link_map* module) {
  return strstr(module->l_name, "/libgeiger") != nullptr ||
         strstr(module->l_name, "/liblttng-ust") != nullptr;
}

/// Once: of threads that resolve at the same time, the first.
void leave_out_allocator_and_tools() {
  static constinit std::atomic<bool> is_begun{false};
  if (is_begun.exchange(true, std::memory_order_relaxed)) return;
  const Definition allocator = find_next("malloc");
  if (allocator.module != nullptr) capture::leave_out(allocator.module);
  for (const link_map* module = base::first_module(); module != nullptr; module = module->l_next) {
    if (is_of_a_tool(module)) capture::leave_out(module);
  }
}

/// libstdc++ and libc++ only forward to malloc.
bool is_plain_runtime(const link_map* module) {
  return strstr(module->l_name, "/libstdc++.so") != nullptr ||
         strstr(module->l_name, "/libc++.so") != nullptr ||
         strstr(module->l_name, "/libc++abi.so") != nullptr;
}

}  // namespace

constinit Originals originals = {
    .malloc = First<&Originals::malloc>::call,
    .free = First<&Originals::free>::call,
    .calloc = First<&Originals::calloc>::call,
    .realloc = First<&Originals::realloc>::call,
    .realloc_for_array = First<&Originals::realloc_for_array>::call,
    .memalign = First<&Originals::memalign>::call,
    .aligned_alloc = First<&Originals::aligned_alloc>::call,
    .posix_memalign = First<&Originals::posix_memalign>::call,
    .valloc = First<&Originals::valloc>::call,
    .pvalloc = First<&Originals::pvalloc>::call,
    .free_sized = First<&Originals::free_sized>::call,
    .free_aligned_sized = First<&Originals::free_aligned_sized>::call,
    .usable_size = First<&Originals::usable_size>::call,
    .next_usable_size = First<&Originals::next_usable_size>::call,
    .pthread_create = First<&Originals::pthread_create>::call,
    .thrd_create = First<&Originals::thrd_create>::call,
    .cleanup_push = First<&Originals::cleanup_push>::call,
    .cleanup_pop = First<&Originals::cleanup_pop>::call,
};

constinit MappingOriginals mapping_originals{};

constinit CxxOriginals cxx_originals = first_calls();

constinit SystemOriginals system_originals{};
constinit bool passes_new_through = false;
constinit bool new_is_malloc = false;

void* try_new(std::size_t size) { return originals.malloc(size); }
void* try_new(std::size_t size, const void*) { return originals.malloc(size); }
void* try_new(std::size_t size, std::size_t alignment) { return allocate_aligned(size, alignment); }
void* try_new(std::size_t size, std::size_t alignment, const void*) {
  return allocate_aligned(size, alignment);
}

/// Finds clock_gettime of the C library itself, also where another library shadows it.
void find_clock() {
  const link_map* library = find_next("gnu_get_libc_version").module;
  if (library != nullptr) assign(base::clock_function, find_in(library, "clock_gettime"));
}

GEIGER_SLOW_PATH void resolve() {
  if (is_set(is_resolved)) return;
  const Definition allocator = find_next("malloc");
  Originals found = originals;
  found.free_sized = free_without_size;
  found.free_aligned_sized = free_without_sizes;
  found.usable_size = unknown_usable_size;
  found.next_usable_size = unknown_usable_size;
  found.pthread_create = no_threads;
  found.thrd_create = no_c11_threads;
  found.cleanup_push = push_nothing;
  found.cleanup_pop = pop_nothing;
  assign(found.malloc, allocator);
  assign_from(found.free, allocator.module, "free");
  assign_from(found.calloc, allocator.module, "calloc");
  assign_from(found.realloc, allocator.module, "realloc");
  assign_aligned(found, allocator.module);
  assign(found.free_sized, find_in(allocator.module, "free_sized"));
  assign(found.free_aligned_sized, find_in(allocator.module, "free_aligned_sized"));
  // Only its own: another allocator's would look in front of a block that is not its.
  assign(found.usable_size, find_in(allocator.module, "malloc_usable_size"));
  assign(found.next_usable_size, find_next("malloc_usable_size"));
  assign(found.pthread_create, find_next("pthread_create"));
  assign(found.thrd_create, find_next("thrd_create"));
  assign(found.cleanup_push, find_next("_pthread_cleanup_push"));
  assign(found.cleanup_pop, find_next("_pthread_cleanup_pop"));
  found.realloc_for_array = found.realloc;
  originals = found;
  capture::set_allocator_path(allocator.module->l_name);
  capture::set_mallctl(
      reinterpret_cast<capture::Mallctl>(find_in(allocator.module, "mallctl").address));
  if (capture::may_guard() && frees_privately(allocator.module)) capture::forbid_guarding();
  capture::set_freeing_functions(reinterpret_cast<const void*>(found.free),
                                 reinterpret_cast<const void*>(found.realloc));
  ask_for_samples(allocator.module, originals);
  find_clock();
  set(is_resolved);
  resolve_mappings();  // Now, as the loader's list may change under a later look.
  resolve_system();
}

GEIGER_SLOW_PATH void resolve_mappings_slow() {
  MappingOriginals found{};
  assign(found.mmap, find_next("mmap"));
  assign(found.munmap, find_next("munmap"));
  assign(found.mremap, find_next("mremap"));
  assign(found.mprotect, find_next("mprotect"));
  assign(found.sbrk, find_next("sbrk"));
  assign(found.brk, find_next("brk"));
  mapping_originals = found;
  leave_out_allocator_and_tools();
  set(are_mappings_resolved);
}

void resolve_mappings() {
  if (!is_set(are_mappings_resolved)) [[unlikely]]
    resolve_mappings_slow();
}

void resolve_system() {
  if (is_set(is_system_resolved)) [[likely]]
    return;
  SystemOriginals found{};
  assign(found.prctl, find_next("prctl"));
  assign(found.clone, find_next("clone"));
  assign(found.fork_bare, find_next("_Fork"));
  assign(found.sigaction, find_next("sigaction"));
  assign(found.signal, find_next("signal"));
  capture::set_signal_function(found.sigaction);
  assign(found.syscall, find_next("syscall"));
  system_originals = found;
  set(is_system_resolved);
}

std::size_t usable_size_of(void* pointer, std::size_t requested) {
  const void* frame = __builtin_frame_address(0);
  if (capture::tls.sizing_frame != nullptr && frame < capture::tls.sizing_frame) return requested;
  capture::tls.sizing_frame = frame;
  const std::size_t usable = originals.usable_size(pointer);
  capture::tls.sizing_frame = nullptr;
  return usable < requested ? requested : usable;
}

GEIGER_SLOW_PATH void resolve_cxx() {
  if (is_set(is_cxx_resolved)) return;
  resolve();
  const Definition next_new = find_next("_Znwm");
  const Definition next_malloc = find_next("malloc");
  CxxOriginals table{};
  assign_over_malloc(table);
  assign_fallbacks();
  if (next_new.address != nullptr && next_new.module == next_malloc.module) {
    assign_own(table, next_malloc.module);
  } else if (next_new.address != nullptr && !is_plain_runtime(next_new.module)) {
    assign_passing(table);
    passes_new_through = true;
  } else {
    new_is_malloc = true;
  }
  cxx_originals = table;
  set(is_cxx_resolved);
}

void resolve_cxx_again() {
  if (fallbacks.new_plain == nullptr) is_cxx_resolved.store(false, std::memory_order_relaxed);
  resolve_cxx();
}

}  // namespace geiger::interpose
