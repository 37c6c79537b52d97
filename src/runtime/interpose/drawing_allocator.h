// geiger's own malloc behind us: it draws the samples and reports them (runtime/heap/listener.h,
// capture/sample/drawn.h).
//
// It knows neither the entry points that end in another one of its own, as operator new does, nor
// requests that were rounded up before it got them. So where it was found, every original but
// malloc says what the program asked for, and the samples drawn meanwhile are told as that.
//
// Threads / Signals / Fork: as capture.h. Allocates: never.
#pragma once

#include <link.h>

#include "runtime/capture/capture.h"
#include "runtime/interpose/originals.h"

namespace geiger::interpose {

/// While it lives, the calling thread allocates for this call of the program. One inside of
/// another says nothing.
class AskedAs {
 public:
  GEIGER_FAST_PATH AskedAs(trace::EntryPoint entry_point, std::size_t size) {
    const void* frame = __builtin_frame_address(0);
    // One that is no deeper was left by a jump.
    is_inner_ = capture::tls.asked.frame > frame;
    if (!is_inner_) capture::tls.asked = {frame, size, entry_point};
  }
  GEIGER_FAST_PATH ~AskedAs() {
    if (!is_inner_) capture::tls.asked.frame = nullptr;
  }
  AskedAs(const AskedAs&) = delete;
  AskedAs& operator=(const AskedAs&) = delete;

 private:
  bool is_inner_;
};

/// Listens to the allocator if it tells its samples, and has its functions in `table` say what is
/// asked. Before the first sample.
void ask_for_samples(const link_map* allocator, Originals& table);
/// Whether it did.
[[nodiscard]] bool is_told_samples();

}  // namespace geiger::interpose
