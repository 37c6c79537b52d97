// Non-standard functions of allocators that free or resize malloc's blocks. A program that calls
// one bypasses us, and passes the allocator an address that is not its own if the object is
// guarded.
#include "runtime/interpose/originals.h"

#include <errno.h>
#include <link.h>
#include <string.h>

#include <algorithm>
#include <atomic>
#include <iterator>

#include "base/check.h"
#include "base/clock.h"
#include "base/loader.h"
#include "runtime/capture/capture.h"
#include "runtime/capture/control/live_answers.h"
#include "runtime/capture/guard_mode.h"
#include "runtime/capture/program/mappings.h"
#include "runtime/capture/thread/settling.h"
#include "runtime/interpose/drawing_allocator.h"
#include "runtime/interpose/elf_lookup.h"

struct link_map;

namespace geiger::interpose {

/// Whether a loaded module may call a function of this allocator that is not standard. Walks
/// relocations, about 0.1 ms per thousand, unless the allocator has no such function, like the C
/// library's. Threads: the loader's list must not change meanwhile. Allocates: never.
[[nodiscard]] bool calls_privately(const link_map* allocator);

// For an allocator that calls functions of its family by name: musl's calloc calls malloc, and so
// do those of many preloaded shims, whose malloc may call the C library's calloc. Such calls lead
// to our entry points, so each allocation would be counted twice, and its second stack would start
// inside the allocator.
//
// Only the outer call counts. Before the original is called, the countdown is raised out of reach
// of every request; afterwards it gets its value back. So the entry points have no code for this.
//
// Threads: as the originals. Signals: allocations of a handler that interrupts the original are
// neither counted nor sampled. Fork: as the originals. Allocates: through those.

struct Originals;

/// Makes the allocating functions in `table` count their outer call alone.
void count_outer_calls(Originals& table);

namespace {

/// Functions of jemalloc, mimalloc and tcmalloc.
constexpr const char* kPrivate[] = {
    "mallocx",   "rallocx",    "xallocx", "sallocx",      "dallocx",       "sdallocx",
    "je_malloc", "je_calloc",  "je_free", "mi_malloc",    "mi_calloc",     "mi_zalloc",
    "mi_new",    "mi_realloc", "mi_free", "mi_cfree",     "tc_malloc",     "tc_calloc",
    "tc_new",    "tc_realloc", "tc_free", "mi_free_size", "tc_free_sized",
};

bool has_private(const link_map* allocator) {
  return std::any_of(std::begin(kPrivate), std::end(kPrivate), [allocator](const char* name) {
    return find_in(allocator, name).address != nullptr;
  });
}

}  // namespace

bool calls_privately(const link_map* allocator) {
  if (allocator == nullptr || !has_private(allocator)) return false;
  for (const link_map* module = base::first_module(); module != nullptr; module = module->l_next) {
    if (module != allocator && refers_to(*module, kPrivate)) return true;
  }
  return false;
}

namespace {

constinit Originals layered_allocator{};

/// During its lifetime, the calling thread's allocations do not count.
class Uncounted {
 public:
  GEIGER_FAST_PATH Uncounted()
      : before_(capture::tls.countdown), is_outer_(!capture::is_out_of_reach(before_)) {
    if (is_outer_) capture::tls.countdown = before_ + capture::kNever;
  }
  GEIGER_FAST_PATH ~Uncounted() {
    if (is_outer_) capture::tls.countdown = before_;
  }
  Uncounted(const Uncounted&) = delete;
  Uncounted& operator=(const Uncounted&) = delete;

 private:
  std::uint64_t before_;
  bool is_outer_;
};

template <auto kMember>
struct Outer;
template <class R, class... A, R (*Originals::*kMember)(A...)>
struct Outer<kMember> {
  static R call(A... arguments) {
    const Uncounted inner;
    return (layered_allocator.*kMember)(arguments...);
  }
};

}  // namespace

void count_outer_calls(Originals& table) {
  layered_allocator = table;
  table.malloc = Outer<&Originals::malloc>::call;
  table.calloc = Outer<&Originals::calloc>::call;
  table.realloc = Outer<&Originals::realloc>::call;
  table.realloc_for_array = Outer<&Originals::realloc_for_array>::call;
  table.memalign = Outer<&Originals::memalign>::call;
  table.aligned_alloc = Outer<&Originals::aligned_alloc>::call;
  table.posix_memalign = Outer<&Originals::posix_memalign>::call;
  table.valloc = Outer<&Originals::valloc>::call;
  table.pvalloc = Outer<&Originals::pvalloc>::call;
}

namespace {

template <auto kMember>
using First = FirstCall<originals, kMember, resolve>;
/// The allocator's own definition if it has one, else the next in search order, as without us.
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

/// The C library defines these if the allocator does not.
void assign_aligned(Originals& found, const link_map* allocator) {
  assign_from(found.posix_memalign, allocator, "posix_memalign");
  assign_from(found.memalign, allocator, "memalign");
  assign_from(found.aligned_alloc, allocator, "aligned_alloc");
  assign_from(found.valloc, allocator, "valloc");
  assign_from(found.pvalloc, allocator, "pvalloc");
}

constinit std::atomic<bool> is_resolved{false};
constinit std::atomic<bool> are_mappings_resolved{false};
constinit std::atomic<bool> is_system_resolved{false};

/// Libraries of tools, whose mappings are not the program's.
bool is_of_a_tool(const link_map* module) {
  return strstr(module->l_name, "/libgeiger") != nullptr ||
         strstr(module->l_name, "/liblttng-ust") != nullptr;
}

/// Once: if several threads resolve at the same time, only the first.
void leave_out_allocator_and_tools() {
  static constinit std::atomic<bool> is_begun{false};
  if (is_begun.exchange(true, std::memory_order_relaxed)) return;
  const Definition allocator = find_next("malloc");
  if (allocator.module != nullptr) capture::leave_out(allocator.module);
  for (const link_map* module = base::first_module(); module != nullptr; module = module->l_next) {
    if (is_of_a_tool(module)) capture::leave_out(module);
  }
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

constinit SystemOriginals system_originals{};

/// Finds the C library's own clock_gettime, even if another library shadows it.
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
  // Only the allocator's own: another allocator's would read a header that is not its own.
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
  if (calls_privately(allocator.module)) capture::set_calls_privately();
  capture::set_freeing_functions(reinterpret_cast<const void*>(found.free),
                                 reinterpret_cast<const void*>(found.realloc));
  ask_for_samples(allocator.module, originals);
  if (calls_itself_by_name(allocator.module)) count_outer_calls(originals);
  find_clock();
  set(is_resolved);
  resolve_mappings();  // Now, because the loader's list may change later.
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

}  // namespace geiger::interpose
