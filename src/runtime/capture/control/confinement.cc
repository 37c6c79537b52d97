#include "runtime/capture/control/confinement.h"

#include <errno.h>

#include <algorithm>

#include "base/clock.h"
#include "runtime/capture/guard_mode.h"
#include "runtime/capture/image/image.h"
#include "runtime/capture/sample/sample.h"

namespace geiger::capture {

Attempt::Attempt(base::Confinement wanted)
    : before_{base::confinement.load(std::memory_order_relaxed)},
      wanted_{std::max(before_, wanted)},
      begun_{is_recording() ? base::monotonic_now() : 0} {
  give_up_trap();
  if (before_ == base::Confinement::kNone && is_recording())
    current_segment().writer.allocate_mapped();
  base::confinement.store(wanted_, std::memory_order_relaxed);
  if (wanted_ == base::Confinement::kTotal) keep_allocators_memory(true);
}

void Attempt::end(bool is_in_force) const {
  if (!is_in_force) {
    if (before_ != base::Confinement::kTotal) keep_allocators_memory(false);
    return base::confinement.store(before_, std::memory_order_relaxed);
  }
  if (wanted_ == base::Confinement::kTotal && is_recording()) {
    current_segment().writer.stop(trace::StopReason::kConfined, 0, begun_);
  }
}

}  // namespace geiger::capture
