// Writes frames into a Trace and hashes them; makes room for more by folding recursion.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/unwind/unwind.h"

namespace geiger::unwind {

class Recorder {
 public:
  explicit Recorder(Trace& trace)
      : trace_(&trace), next_(trace.frames), end_(trace.frames + trace.capacity) {
    trace_->truncated = true;  // Until an end is seen.
    trace_->handler_frames = 0;
    trace_->folded = 0;
    if (trace.stack_pointers != nullptr) {
      to_stack_pointer_ =
          reinterpret_cast<char*>(trace.stack_pointers) - reinterpret_cast<char*>(trace.frames);
    }
  }

  /// False: no room left.
  [[gnu::always_inline]] bool push(const Registers& at, std::uint64_t frame, std::uint32_t module) {
    if (next_ == end_) return false;
    // If the trace stores no stack pointers, the next line overwrites this one with the frame.
    *reinterpret_cast<std::uint64_t*>(reinterpret_cast<char*>(next_) + to_stack_pointer_) = at.sp;
    *next_++ = frame;
    hash(frame, module);
    return true;
  }

  /// As push(); where there is no room, folds recursion to make some.
  [[gnu::always_inline]] bool push_or_fold(const Registers& at, std::uint64_t frame,
                                           std::uint32_t module) {
    return push(at, frame, module) || (make_room_slow() && push(at, frame, module));
  }

  void reach_end() { trace_->truncated = false; }

  /// A signal interrupted the next frame.
  void pass_signal() { trace_->handler_frames = static_cast<std::size_t>(next_ - trace_->frames); }

  /// Spreads the last frames over all bits: tables take the low ones.
  void finish() {
    if (trace_->folded != 0) [[unlikely]]
      fold_rest_slow();
    trace_->count = static_cast<std::size_t>(next_ - trace_->frames);
    std::uint64_t hash = hash_ ^ trace_->count;
    hash = (hash ^ hash >> 33) * 0xff51afd7ed558ccdU;
    trace_->hash = hash ^ hash >> 32;
  }

 private:
  bool make_room_slow();
  void fold_rest_slow();
  std::size_t fold_own();

  [[gnu::always_inline]] void hash(std::uint64_t frame, std::uint32_t module) {
    // Addresses have at most 57 bits and the id 13: no two pairs share a word as long as the
    // address is below 2^51; else the product still separates them.
    const std::uint64_t word = frame ^ std::uint64_t{module} << 51;
    hash_ = ((hash_ << 5 | hash_ >> 59) ^ word) * 0x9fb21c651e98df25U;
  }

  Trace* trace_;
  std::uint64_t* next_;
  std::uint64_t* end_;
  std::ptrdiff_t to_stack_pointer_ = 0;  ///< In bytes, from the frame's place.
  std::uint64_t hash_ = 0;
};

}  // namespace geiger::unwind
