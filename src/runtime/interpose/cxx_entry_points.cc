// operator new and delete in all their forms, by their mangled names: declared as operators they
// could not return null or make a tail call.
#include "base/check.h"
#include "runtime/capture/capture.h"
#include "runtime/interpose/conclude.h"
#include "runtime/interpose/drawing_allocator.h"
#include "runtime/interpose/machine.h"
#include "runtime/interpose/originals.h"

namespace geiger::interpose {
namespace {

using trace::EntryPoint;

constexpr std::size_t alignment_of() { return 0; }
constexpr std::size_t alignment_of(const void*) { return 0; }
constexpr std::size_t alignment_of(std::size_t alignment) { return alignment; }
constexpr std::size_t alignment_of(std::size_t alignment, const void*) { return alignment; }

/// The forms without alignment are passed through if a foreign operator new was found
/// (originals.h); the malloc inside it decides.
constexpr bool may_pass(EntryPoint entry_point) {
  return entry_point == EntryPoint::kNew || entry_point == EntryPoint::kNewArray;
}

/// `asked` must not live longer: a new handler and the code that throws allocate too, and may not
/// return.
template <EntryPoint kEntryPoint, class... Rest>
void* ask_new(std::size_t size, Rest... rest) {
  const AskedAs asked(kEntryPoint, size);
  return try_new(size, rest...);
}

template <EntryPoint kEntryPoint, auto kOriginal, class... Rest>
GEIGER_SLOW_PATH void* new_slow(std::size_t size, Rest... rest) {
  resolve_cxx();
  if (may_pass(kEntryPoint) && passes_new_through) return (cxx_originals.*kOriginal)(size, rest...);
  const capture::Decision decision = capture::decide(size);
  const bool tries = new_is_malloc || !may_pass(kEntryPoint);
  void* block =
      tries ? ask_new<kEntryPoint>(size, rest...) : (cxx_originals.*kOriginal)(size, rest...);
  void* object = conclude(decision, block, size, kEntryPoint, alignment_of(rest...),
                          unwind::caller_registers());
  if (block == nullptr && tries) return (cxx_originals.*kOriginal)(size, rest...);
  return object;
}

template <EntryPoint kEntryPoint, auto kOriginal, class... Rest>
GEIGER_FAST_PATH void* new_object(std::size_t size, Rest... rest) {
  if (capture::exhausts(size)) [[unlikely]] {
    return new_slow<kEntryPoint, kOriginal, Rest...>(size, rest...);
  }
  return machine::for_jump(cxx_originals.*kOriginal)(size, rest...);
}

template <auto kOriginal, class... Rest>
GEIGER_SLOW_PATH void delete_slow(void* pointer, Rest... rest) {
  release(pointer, unwind::caller_registers(),
          [&](void* block) { (cxx_originals.*kOriginal)(block, rest...); });
}

template <auto kOriginal, class... Rest>
GEIGER_FAST_PATH void delete_object(void* pointer, Rest... rest) {
  if (capture::filter.maybe_holds(pointer)) [[unlikely]] {
    return delete_slow<kOriginal, Rest...>(pointer, rest...);
  }
  machine::for_jump(cxx_originals.*kOriginal)(pointer, rest...);
}

using Table = CxxOriginals;

}  // namespace
}  // namespace geiger::interpose

using namespace geiger::interpose;  // NOLINT: the symbols below live outside.
using geiger::trace::EntryPoint;

// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): mangled.

GEIGER_EXPORT void* _Znwm(std::size_t size) {
  return new_object<EntryPoint::kNew, &Table::new_plain>(size);
}
GEIGER_EXPORT void* _Znam(std::size_t size) {
  return new_object<EntryPoint::kNewArray, &Table::new_array>(size);
}
GEIGER_EXPORT void* _ZnwmRKSt9nothrow_t(std::size_t size, const void* tag) {
  return new_object<EntryPoint::kNew, &Table::new_nothrow>(size, tag);
}
GEIGER_EXPORT void* _ZnamRKSt9nothrow_t(std::size_t size, const void* tag) {
  return new_object<EntryPoint::kNewArray, &Table::new_array_nothrow>(size, tag);
}
GEIGER_EXPORT void* _ZnwmSt11align_val_t(std::size_t size, std::size_t alignment) {
  return new_object<EntryPoint::kNewAligned, &Table::new_aligned>(size, alignment);
}
GEIGER_EXPORT void* _ZnamSt11align_val_t(std::size_t size, std::size_t alignment) {
  return new_object<EntryPoint::kNewArrayAligned, &Table::new_array_aligned>(size, alignment);
}
GEIGER_EXPORT void* _ZnwmSt11align_val_tRKSt9nothrow_t(std::size_t size, std::size_t alignment,
                                                       const void* tag) {
  return new_object<EntryPoint::kNewAligned, &Table::new_aligned_nothrow>(size, alignment, tag);
}
GEIGER_EXPORT void* _ZnamSt11align_val_tRKSt9nothrow_t(std::size_t size, std::size_t alignment,
                                                       const void* tag) {
  return new_object<EntryPoint::kNewArrayAligned, &Table::new_array_aligned_nothrow>(
      size, alignment, tag);
}

GEIGER_EXPORT void _ZdlPv(void* pointer) { delete_object<&Table::delete_plain>(pointer); }
GEIGER_EXPORT void _ZdaPv(void* pointer) { delete_object<&Table::delete_array>(pointer); }
GEIGER_EXPORT void _ZdlPvm(void* pointer, std::size_t size) {
  delete_object<&Table::delete_sized>(pointer, size);
}
GEIGER_EXPORT void _ZdaPvm(void* pointer, std::size_t size) {
  delete_object<&Table::delete_array_sized>(pointer, size);
}
GEIGER_EXPORT void _ZdlPvRKSt9nothrow_t(void* pointer, const void* tag) {
  delete_object<&Table::delete_nothrow>(pointer, tag);
}
GEIGER_EXPORT void _ZdaPvRKSt9nothrow_t(void* pointer, const void* tag) {
  delete_object<&Table::delete_array_nothrow>(pointer, tag);
}
GEIGER_EXPORT void _ZdlPvSt11align_val_t(void* pointer, std::size_t alignment) {
  delete_object<&Table::delete_aligned>(pointer, alignment);
}
GEIGER_EXPORT void _ZdaPvSt11align_val_t(void* pointer, std::size_t alignment) {
  delete_object<&Table::delete_array_aligned>(pointer, alignment);
}
GEIGER_EXPORT void _ZdlPvmSt11align_val_t(void* pointer, std::size_t size, std::size_t alignment) {
  delete_object<&Table::delete_sized_aligned>(pointer, size, alignment);
}
GEIGER_EXPORT void _ZdaPvmSt11align_val_t(void* pointer, std::size_t size, std::size_t alignment) {
  delete_object<&Table::delete_array_sized_aligned>(pointer, size, alignment);
}
GEIGER_EXPORT void _ZdlPvSt11align_val_tRKSt9nothrow_t(void* pointer, std::size_t alignment,
                                                       const void* tag) {
  delete_object<&Table::delete_aligned_nothrow>(pointer, alignment, tag);
}
GEIGER_EXPORT void _ZdaPvSt11align_val_tRKSt9nothrow_t(void* pointer, std::size_t alignment,
                                                       const void* tag) {
  delete_object<&Table::delete_array_aligned_nothrow>(pointer, alignment, tag);
}
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)
