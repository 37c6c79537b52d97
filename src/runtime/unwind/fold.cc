#include "runtime/unwind/fold.h"

#include <algorithm>

#include "base/attributes.h"
#include "runtime/unwind/modules.h"
#include "runtime/unwind/recorder.h"

namespace geiger::unwind {
namespace {

std::size_t fold_cycles(std::uint64_t* frames, std::size_t count, std::size_t period) {
  std::size_t kept = 0;
  std::size_t same = 0;  // Frames in a row that equal the one a period before.
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t frame = frames[i];
    same = kept >= period && frames[kept - period] == frame ? same + 1 : 0;
    frames[kept++] = frame;
    if (same == 2 * period) {
      kept -= period;
      same -= period;
    }
  }
  return kept;
}

}  // namespace

std::size_t fold(std::uint64_t* frames, std::size_t count) {
  for (std::size_t period = 1; period <= kLongestCycle; ++period) {
    count = fold_cycles(frames, count, period);
  }
  return count;
}

/// Returns the number of frames left.
std::size_t Recorder::fold_own() {
  const auto count = static_cast<std::size_t>(next_ - trace_->frames);
  const std::size_t kept = fold(trace_->frames, count);
  trace_->folded += count - kept;
  next_ = trace_->frames + kept;
  return kept;
}

/// False: enough was followed, or too little of it is recursion. Passes over what is kept must stay
/// rare beside the steps of the walk.
GEIGER_SLOW_PATH bool Recorder::make_room_slow() {
  const auto followed = static_cast<std::size_t>(next_ - trace_->frames) + trace_->folded;
  if (followed >= trace_->most) return false;
  const std::size_t kept = fold_own();
  end_ = trace_->frames + std::min(trace_->capacity, kept + (trace_->most - followed));
  return kept <= trace_->capacity / 2;
}

/// Also hashes again, so that recursions of any depth are one stack.
GEIGER_SLOW_PATH void Recorder::fold_rest_slow() {
  fold_own();
  hash_ = 0;
  for (const std::uint64_t* frame = trace_->frames; frame != next_; ++frame) {
    FoundModule found;
    hash(*frame, find_module(*frame - 1, found) ? found.id : 0);
  }
}

}  // namespace geiger::unwind
