// The end of every slow allocation, after the original function returned.
#pragma once

#include "runtime/capture/capture.h"
#include "runtime/capture/guard_mode.h"
#include "runtime/interpose/originals.h"
#include "runtime/interpose/python_domains.h"

namespace geiger::interpose {

/// Records the decided allocation, or retracts it if it failed (null). Returns the address for the
/// program: the allocator's block, or the guarded object.
[[nodiscard]] inline void* conclude(const capture::Decision& decision, void* block,
                                    std::size_t size, trace::EntryPoint entry_point,
                                    std::size_t alignment, const unwind::Registers& caller) {
  if (block == nullptr) {
    capture::retract(decision, size);
    return nullptr;
  }
  void* object = block;
  if (decision.is_sample) {
    const std::size_t usable = usable_size_of(block, size);
    // pvalloc returns whole pages.
    if (entry_point != trace::EntryPoint::kPvalloc) {
      object = capture::place(decision, block, size, alignment);
    }
    capture::record(decision, {object, size, usable, entry_point, alignment}, caller);
  }
  look_after_python(decision);
  return object;
}

/// The program frees `pointer`, which may be a live sample: records the free, and frees the
/// allocator's block with `free_block(block)`. Aborts the program after a wrong free.
template <class Free>
void release(void* pointer, const unwind::Registers& caller, const Free& free_block) {
  if (!capture::is_guarded(pointer)) [[likely]] {
    capture::release(pointer, caller);
    return free_block(pointer);
  }
  guard::Slot* slot = capture::hold(pointer, caller);
  if (slot == nullptr) {
    // The allocator may react first, as without us.
    if (void* block = capture::block_behind(pointer); block != nullptr) free_block(block);
    capture::end_after_fault();
  }
  capture::release(pointer, caller);
  void* block = slot->block;
  capture::end_held(*slot, caller);
  free_block(block);
}

}  // namespace geiger::interpose

/// An exported C symbol.
#define GEIGER_EXPORT extern "C" [[gnu::visibility("default")]]
