// geiger's own malloc as the original allocator: it draws the samples and reports them
// (heap/listener.h, capture/sample/sample.h).
//
// It does not see the program's entry point if that calls another one, as operator new does, nor
// the requested size if it was rounded up before. So with this allocator every original except
// malloc notes the program's request, and samples drawn meanwhile are recorded with it.
//
// Threads / Signals / Fork: as capture.h. Allocates: never.
#pragma once

#include <link.h>

#include "runtime/capture/capture.h"
#include "runtime/interpose/originals.h"

namespace geiger::interpose {

/// During its lifetime, the calling thread allocates for this call of the program. Nested ones have
/// no effect.
class AskedAs {
 public:
  GEIGER_FAST_PATH AskedAs(trace::EntryPoint entry_point, std::size_t size) {
    const void* frame = __builtin_frame_address(0);
    // If our frame is not deeper, a jump abandoned the other one.
    is_inner_ = capture::tls.asked.frame > frame;
    if (!is_inner_) capture::tls.asked = {frame, size, entry_point, false};
  }
  GEIGER_FAST_PATH ~AskedAs() {
    if (!is_inner_) capture::tls.asked.frame = nullptr;
  }
  AskedAs(const AskedAs&) = delete;
  AskedAs& operator=(const AskedAs&) = delete;

 private:
  bool is_inner_;
};

/// Listens to the allocator if it reports samples, and makes the functions in `table` note the
/// program's requests. Before the first sample.
void ask_for_samples(const link_map* allocator, Originals& table);
/// Whether the allocator reports samples.
[[nodiscard]] bool is_told_samples();

}  // namespace geiger::interpose
