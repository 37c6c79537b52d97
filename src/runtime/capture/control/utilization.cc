#include "runtime/capture/control/utilization.h"

#include "base/attributes.h"
#include "base/clock.h"
#include "runtime/capture/control/live_request.h"
#include "trace/append.h"

namespace geiger::capture {
namespace {

constexpr std::size_t kMostSamples = 65536;
constexpr std::size_t kBatch = 64;

constinit Mallctl ask = nullptr;

/// jemalloc's answer for one pointer; all 0 if the block is not jemalloc's.
struct Answer {
  std::size_t free_regions;
  std::size_t regions;
  std::size_t slab_bytes;
};
static_assert(sizeof(Answer) == 3 * sizeof(std::size_t));

/// Pointers that one query asks about.
class Batch {
 public:
  explicit Batch(Segment& segment) : segment_(segment) {}

  void add(std::uint64_t address, trace::Ref sample) {
    addresses_[count_] = address;
    samples_[count_++] = sample;
    if (count_ == kBatch) flush();
  }

  void flush() {
    Answer answers[kBatch];
    std::size_t bytes = count_ * sizeof(Answer);
    const std::size_t count = count_;
    count_ = 0;
    if (count == 0 || ask("experimental.utilization.batch_query", answers, &bytes, addresses_,
                          count * sizeof addresses_[0]) != 0) {
      return;
    }
    const std::uint64_t now = base::monotonic_now();
    for (std::size_t i = 0; i < count; ++i) write(samples_[i], answers[i], now);
  }

 private:
  void write(trace::Ref sample, const Answer& answer, std::uint64_t now) {
    if (answer.regions == 0 || answer.free_regions > answer.regions) return;
    trace::append<trace::UtilizationRecord>(
        segment_.writer, {}, [&](trace::UtilizationRecord& record) {
          record.time = now;
          record.sample = sample;
          record.slab_bytes = answer.slab_bytes;
          record.free_bytes = answer.slab_bytes / answer.regions * answer.free_regions;
        });
  }

  Segment& segment_;
  std::uint64_t addresses_[kBatch];
  trace::Ref samples_[kBatch];
  std::size_t count_ = 0;
};

GEIGER_SLOW_PATH void serve_slow(Segment& segment) {
  Batch batch(segment);
  for_each_live_of(segment,
                   [&](std::uint64_t address, trace::Ref sample) { batch.add(address, sample); });
  batch.flush();
}

}  // namespace

void set_mallctl(Mallctl mallctl) { ask = mallctl; }

void serve_utilization(Segment& segment) {
  if (ask == nullptr) return;
  const auto& wanted = segment.writer.control()->wanted_utilization;
  const bool is_ours = claim_request(image.served.utilization, wanted);
  if (is_ours && image.live.table.size() <= kMostSamples) serve_slow(segment);
}

}  // namespace geiger::capture
