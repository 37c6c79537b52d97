#include <string.h>

#include <atomic>
#include <tuple>
#include <type_traits>

#include "base/check.h"
#include "runtime/capture/capture.h"
#include "runtime/interpose/drawing_allocator.h"
#include "runtime/interpose/elf_lookup.h"
#include "runtime/interpose/originals.h"

namespace geiger::interpose {
namespace {

using trace::EntryPoint;

template <auto kMember>
using FirstCxx = FirstCall<cxx_originals, kMember, resolve_cxx>;

constinit std::atomic<bool> is_cxx_resolved{false};

/// The operators to call when malloc fails: they call the new handler or throw.
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

/// aligned_alloc requires an alignment of at least a pointer and a size that is a multiple of it.
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

// Another library's operator new calls malloc, which counts, so undo our entry point's subtraction
// from the counter.
template <auto kMember, class... Rest>
void* pass(std::size_t size, Rest... rest) {
  capture::tls.countdown += size;
  return (fallbacks.*kMember)(size, rest...);
}

/// Calls `kFunction` so that an allocator that draws reports the entry point that the program
/// called.
template <EntryPoint kEntryPoint, auto kFunction>
struct Asking;
template <EntryPoint kEntryPoint, class... Rest, void* (*kFunction)(std::size_t, Rest...)>
struct Asking<kEntryPoint, kFunction> {
  static void* call(std::size_t size, Rest... rest) {
    void* const pointer = ask(size, rest...);
    return pointer != nullptr ? pointer : kFunction(size, rest...);
  }

 private:
  /// `asked` must not live longer: a new handler and the code that throws allocate too, and may not
  /// return.
  static void* ask(std::size_t size, Rest... rest) {
    const AskedAs asked(kEntryPoint, size);
    return try_new(size, rest...);
  }
};

/// An operator: its symbol, and the functions that CxxOriginals::*kMember may point to.
template <auto kMember>
struct Operator {
  using Function = std::remove_reference_t<decltype(cxx_originals.*kMember)>;
  const char* symbol;
  Function over_malloc;  ///< Null: free itself, which ignores further arguments.
  Function asking;       ///< Like over_malloc, for an allocator that draws.
  Function passing;      ///< To a library's operator that calls malloc; rarely aligned.
  /// Whether to call the allocator's own operator. Not its aligned operators new: jemalloc's call
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

/// `kPassing` is null for aligned operators: libraries rarely define ones that call malloc.
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

/// Calls visit(operator, its entry in `table`) for each operator.
template <class Visit>
constexpr void for_each_operator(CxxOriginals& table, const Visit& visit) {
  const auto visit_one = [&]<auto kMember>(const Operator<kMember>& each) {
    visit(each, table.*kMember);
  };
  std::apply([&](const auto&... each) { (visit_one(each), ...); }, kOperators);
}

/// A table of functions that resolve the family, then call the original.
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

/// The operators that the program would get without us.
void assign_fallbacks() {
  for_each_operator(fallbacks, [](const auto& each, auto& place) {
    if (each.is_new()) assign(place, find_next(each.symbol));
  });
}

/// Replaces the forms defined by a library other than the allocator and plain C++ runtimes.
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

/// Uses the forms that the allocator defines; the others do not change.
void assign_own(CxxOriginals& table, const link_map* allocator) {
  for_each_operator(table, [&](const auto& each, auto& place) {
    if (each.prefers_own) assign(place, find_in(allocator, each.symbol));
  });
}

/// libstdc++ and libc++ only forward to malloc.
bool is_plain_runtime(const link_map* module) {
  return strstr(module->l_name, "/libstdc++.so") != nullptr ||
         strstr(module->l_name, "/libc++.so") != nullptr ||
         strstr(module->l_name, "/libc++abi.so") != nullptr;
}

}  // namespace

constinit CxxOriginals cxx_originals = first_calls();
constinit bool passes_new_through = false;
constinit bool new_is_malloc = false;

void* try_new(std::size_t size) { return originals.malloc(size); }
void* try_new(std::size_t size, const void*) { return originals.malloc(size); }
void* try_new(std::size_t size, std::size_t alignment) { return allocate_aligned(size, alignment); }
void* try_new(std::size_t size, std::size_t alignment, const void*) {
  return allocate_aligned(size, alignment);
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
