// malloc and related functions, as the program calls them.
//
//   not sampled   exhausts(size)? no -> jump to the original     (the fast path)
//   sampled       ..._slow: decide, call the original, record
//   free          filter.maybe_holds(p)? no -> jump to the original
//
// A size of 0 always exhausts. The original function refuses an overflowing product.
#include <errno.h>

#include "base/check.h"
#include "runtime/capture/capture.h"
#include "runtime/interpose/conclude.h"
#include "runtime/interpose/drawing_allocator.h"
#include "runtime/interpose/machine.h"
#include "runtime/interpose/originals.h"

namespace geiger::interpose {
namespace {

using capture::Decision;
using trace::EntryPoint;
using unwind::caller_registers;
using unwind::Registers;

GEIGER_SLOW_PATH void* malloc_slow(std::size_t size) {
  resolve();
  const Decision decision = capture::decide(size);
  void* block = originals.malloc(size);
  return conclude(decision, block, size, EntryPoint::kMalloc, 0, caller_registers());
}

GEIGER_SLOW_PATH void* calloc_slow(std::size_t count, std::size_t size) {
  resolve();
  const Decision decision = capture::decide(count * size);
  void* block = originals.calloc(count, size);
  return conclude(decision, block, count * size, EntryPoint::kCalloc, 0, caller_registers());
}

/// The rest of every realloc whose block may be a sample or whose new size was drawn: the old
/// sample ends, the new block is tried.
void* reallocate(void* old, std::size_t size, const Decision& decision, EntryPoint entry_point,
                 const Registers& caller) {
  const std::uint64_t taken =
      old != nullptr && capture::filter.maybe_holds(old) ? capture::take(old) : 0;
  guard::Slot* slot = nullptr;
  if (capture::is_guarded(old)) [[unlikely]] {
    slot = capture::hold(old, caller);
    if (slot == nullptr) capture::end_after_fault();
  }
  const AskedAs asked(entry_point, size);
  void* block = originals.realloc(slot == nullptr ? old : capture::refreshed_block(*slot), size);
  // On failure the old block stays valid; realloc(p, 0) frees it, whatever it returns.
  if (block == nullptr && size != 0) {
    capture::put_back(old, taken);
    if (slot != nullptr) guard::restore(*slot);
  } else {
    capture::settle_taken(taken, caller);
    if (slot != nullptr) capture::end_held(*slot, caller);
  }
  return conclude(decision, block, size, entry_point, 0, caller);
}

GEIGER_SLOW_PATH void* realloc_drawn_slow(void* old, std::size_t size) {
  resolve();
  return reallocate(old, size, capture::decide(size), EntryPoint::kRealloc, caller_registers());
}

/// The new size fitted, so it is not a sample; the old block may be one.
GEIGER_SLOW_PATH void* realloc_known_slow(void* old, std::size_t size) {
  return reallocate(old, size, Decision{}, EntryPoint::kRealloc, caller_registers());
}

GEIGER_SLOW_PATH void* reallocarray_drawn_slow(void* old, std::size_t size) {
  resolve();
  return reallocate(old, size, capture::decide(size), EntryPoint::kReallocarray,
                    caller_registers());
}

GEIGER_SLOW_PATH void* memalign_slow(std::size_t alignment, std::size_t size) {
  resolve();
  const Decision decision = capture::decide(size);
  void* block = originals.memalign(alignment, size);
  return conclude(decision, block, size, EntryPoint::kMemalign, alignment, caller_registers());
}

GEIGER_SLOW_PATH void* aligned_alloc_slow(std::size_t alignment, std::size_t size) {
  resolve();
  const Decision decision = capture::decide(size);
  void* block = originals.aligned_alloc(alignment, size);
  return conclude(decision, block, size, EntryPoint::kAlignedAlloc, alignment, caller_registers());
}

GEIGER_SLOW_PATH int posix_memalign_slow(void** out, std::size_t alignment, std::size_t size) {
  resolve();
  const Decision decision = capture::decide(size);
  void* block = nullptr;
  const int error = originals.posix_memalign(&block, alignment, size);
  void* object = conclude(decision, error == 0 ? block : nullptr, size, EntryPoint::kPosixMemalign,
                          alignment, caller_registers());
  if (error == 0) *out = object;
  return error;
}

GEIGER_SLOW_PATH void* valloc_slow(std::size_t size) {
  resolve();
  const Decision decision = capture::decide(size);
  void* block = originals.valloc(size);
  return conclude(decision, block, size, EntryPoint::kValloc, 4096, caller_registers());
}

GEIGER_SLOW_PATH void* pvalloc_slow(std::size_t size) {
  resolve();
  const Decision decision = capture::decide(size);
  void* block = originals.pvalloc(size);
  return conclude(decision, block, size, EntryPoint::kPvalloc, 4096, caller_registers());
}

GEIGER_SLOW_PATH void free_slow(void* pointer) {
  release(pointer, caller_registers(), [](void* block) { originals.free(block); });
}

GEIGER_SLOW_PATH void free_sized_slow(void* pointer, std::size_t size) {
  release(pointer, caller_registers(), [&](void* block) { originals.free_sized(block, size); });
}

GEIGER_SLOW_PATH void free_aligned_sized_slow(void* pointer, std::size_t alignment,
                                              std::size_t size) {
  release(pointer, caller_registers(),
          [&](void* block) { originals.free_aligned_sized(block, alignment, size); });
}

}  // namespace
}  // namespace geiger::interpose

using namespace geiger;             // NOLINT: the C names below live outside.
using namespace geiger::interpose;  // NOLINT
using geiger::interpose::machine::for_jump;

GEIGER_EXPORT void* malloc(std::size_t size) {
  if (capture::exhausts(size)) [[unlikely]]
    return malloc_slow(size);
  return for_jump(originals.malloc)(size);
}

GEIGER_EXPORT void free(void* pointer) {
  if (capture::filter.maybe_holds(pointer)) [[unlikely]]
    return free_slow(pointer);
  for_jump(originals.free)(pointer);
}

GEIGER_EXPORT void* calloc(std::size_t count, std::size_t size) {
  std::size_t bytes = 0;
  if (!__builtin_mul_overflow(count, size, &bytes) && capture::exhausts(bytes)) [[unlikely]] {
    return calloc_slow(count, size);
  }
  return for_jump(originals.calloc)(count, size);
}

GEIGER_EXPORT void* realloc(void* old, std::size_t size) {
  if (capture::exhausts(size)) [[unlikely]]
    return realloc_drawn_slow(old, size);
  if (capture::filter.maybe_holds(old)) [[unlikely]]
    return realloc_known_slow(old, size);
  return for_jump(originals.realloc)(old, size);
}

/// glibc's reallocarray calls realloc through the symbol table, which would count twice.
GEIGER_EXPORT void* reallocarray(void* old, std::size_t count, std::size_t size) {
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(count, size, &bytes)) {
    errno = ENOMEM;
    return nullptr;
  }
  if (capture::exhausts(bytes)) [[unlikely]]
    return reallocarray_drawn_slow(old, bytes);
  if (capture::filter.maybe_holds(old)) [[unlikely]]
    return realloc_known_slow(old, bytes);
  return for_jump(originals.realloc_for_array)(old, bytes);
}

GEIGER_EXPORT void* memalign(std::size_t alignment, std::size_t size) {
  if (capture::exhausts(size)) [[unlikely]]
    return memalign_slow(alignment, size);
  return for_jump(originals.memalign)(alignment, size);
}

GEIGER_EXPORT void* aligned_alloc(std::size_t alignment, std::size_t size) {
  if (capture::exhausts(size)) [[unlikely]]
    return aligned_alloc_slow(alignment, size);
  return for_jump(originals.aligned_alloc)(alignment, size);
}

GEIGER_EXPORT int posix_memalign(void** out, std::size_t alignment, std::size_t size) {
  if (capture::exhausts(size)) [[unlikely]]
    return posix_memalign_slow(out, alignment, size);
  return for_jump(originals.posix_memalign)(out, alignment, size);
}

GEIGER_EXPORT void* valloc(std::size_t size) {
  if (capture::exhausts(size)) [[unlikely]]
    return valloc_slow(size);
  return for_jump(originals.valloc)(size);
}

GEIGER_EXPORT void* pvalloc(std::size_t size) {
  if (capture::exhausts(size)) [[unlikely]]
    return pvalloc_slow(size);
  return for_jump(originals.pvalloc)(size);
}

GEIGER_EXPORT void free_sized(void* pointer, std::size_t size) {
  if (capture::filter.maybe_holds(pointer)) [[unlikely]]
    return free_sized_slow(pointer, size);
  for_jump(originals.free_sized)(pointer, size);
}

GEIGER_EXPORT void free_aligned_sized(void* pointer, std::size_t alignment, std::size_t size) {
  if (capture::filter.maybe_holds(pointer)) [[unlikely]] {
    return free_aligned_sized_slow(pointer, alignment, size);
  }
  for_jump(originals.free_aligned_sized)(pointer, alignment, size);
}

/// A guarded object is not in the allocator's block; its usable size is the requested one.
GEIGER_EXPORT std::size_t malloc_usable_size(void* pointer) {
  if (capture::is_guarded(pointer)) [[unlikely]]
    return capture::guarded_bytes(pointer);
  return for_jump(originals.next_usable_size)(pointer);
}
