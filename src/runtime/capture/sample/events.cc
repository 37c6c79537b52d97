#include "runtime/capture/sample/events.h"

#include <limits>

#include "base/check.h"
#include "runtime/capture/sample/live_samples.h"
#include "runtime/capture/thread/thread_state.h"
#include "runtime/probes/probes.h"

namespace geiger::capture {

constinit std::atomic<const Listener*> listener{nullptr};

namespace {

GEIGER_SLOW_PATH void probe_sample(const Segment& segment, trace::Ref sample,
                                   const trace::SampleRecord& record) {
  const bool is_certain =
      (trace::RecordHeader::unpack(record.header).flags & trace::kFlagCertain) != 0;
  const auto& epoch = segment.writer.at<trace::EpochRecord>(record.epoch);
  probes::fire_sample(sample, record,
                      is_certain ? std::numeric_limits<double>::infinity()
                                 : __builtin_bit_cast(double, epoch.lambda_bits));
}

}  // namespace

bool is_listened_to() {
  if (probes::wants_recording()) return true;
  const Listener* told = listener.load(std::memory_order_acquire);
  return told != nullptr && told->is_wanted != nullptr && told->is_wanted(told->context);
}

void tell_sampled(const Segment& segment, ThreadState& state, trace::Ref sample,
                  const trace::SampleRecord& record) {
  if (probes::wants_samples()) [[unlikely]]
    probe_sample(segment, sample, record);
  const Listener* told = listener.load(std::memory_order_acquire);
  if (told == nullptr || state.is_telling) return;
  state.is_telling = true;
  told->sampled(told->context, view_of(segment), sample, record);
  state.is_telling = false;
}

void tell_freed(const Segment& segment, ThreadState* state, trace::Ref sample,
                const trace::FreeRecord& record) {
  if (probes::wants_frees()) [[unlikely]]
    probes::fire_free(sample, sample_at(segment, sample), record);
  const Listener* told = listener.load(std::memory_order_acquire);
  if (told == nullptr || state == nullptr || state->is_telling) return;
  state->is_telling = true;
  told->freed(told->context, view_of(segment), sample, record);
  state->is_telling = false;
}

}  // namespace geiger::capture
