#include "runtime/capture/control/live_answers.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "base/clock.h"
#include "base/raw_syscall.h"
#include "base/units.h"
#include "runtime/capture/control/confinement.h"
#include "runtime/capture/image/image.h"
#include "runtime/capture/image/segment.h"
#include "runtime/capture/sample/live_samples.h"
#include "runtime/capture/sample/write.h"
#include "trace/writer.h"

namespace geiger::capture {

// Shared code for requests on the control page that concern all live samples.
//
// Threads: one thread serves a request. Signals: as safe within a handler as the handler's
// allocation itself. Fork: a child serves requests of its own control page. Allocates: never.

/// Claims a new request number for the calling thread to serve. False: no new request, or another
/// thread serves it.
[[nodiscard]] inline bool claim_request(std::atomic<std::uint32_t>& served,
                                        const std::atomic<std::uint32_t>& wanted) {
  std::uint32_t last = served.load(std::memory_order_relaxed);
  const std::uint32_t now = wanted.load(std::memory_order_relaxed);
  return now != last && served.compare_exchange_strong(last, now, std::memory_order_relaxed);
}

/// Calls visit(address, record) for each live sample of the process's own heap whose record is in
/// `segment`.
template <typename Visit>
void for_each_live_of(const Segment& segment, const Visit& visit) {
  image.live.table.for_each([&](std::uint64_t key, std::uint64_t value) {
    const bool is_own = is_of(segment, value) && key >> 48 == 0;
    if (is_own) visit(key, static_cast<trace::Ref>(value));
  });
}

namespace {

constexpr std::size_t kMostSamples = 65536;
constexpr std::uint64_t kMostPages = std::uint64_t{1} << 20;
/// Pages per mincore call: handlers may run on 16 KiB of stack.
constexpr std::size_t kStretch = 256;

/// Writes the records that answer one request.
class ResidencyAnswer {
 public:
  explicit ResidencyAnswer(Segment& segment)
      : segment_(segment),
        page_bytes_(segment.writer.header()->page_size),
        time_(base::monotonic_now()) {}

  void add(trace::Ref ref) {
    const trace::SampleRecord& sample = sample_at(segment_, ref);
    const Bytes requested = sample.requested();
    const std::uint64_t pages = requested / page_bytes_ + 2;
    if (samples_ == kMostSamples || pages > kMostPages - pages_ || sample.time > time_) return;
    ++samples_;
    pages_ += pages;
    const Bytes resident = resident_bytes(sample.address, requested, page_bytes_);
    if (resident != kNotMapped) write(ref, resident);
  }

 private:
  void write(trace::Ref sample, Bytes resident) {
    trace::append<trace::ResidencyRecord>(segment_.writer, {}, [&](trace::ResidencyRecord& record) {
      record.time = time_;
      record.sample = sample;
      record.resident_bytes = resident;
    });
  }

  Segment& segment_;
  Bytes page_bytes_;
  Nanoseconds time_;
  std::size_t samples_ = 0;
  std::uint64_t pages_ = 0;
};

GEIGER_SLOW_PATH void serve_residency_slow(Segment& segment) {
  ResidencyAnswer answer(segment);
  for_each_live_of(segment, [&](std::uint64_t, trace::Ref sample) { answer.add(sample); });
}

}  // namespace

Bytes resident_bytes(Address address, Bytes bytes, Bytes page_bytes) {
  unsigned char states[kStretch];
  const Address end = address + bytes;
  Bytes resident = 0;
  for (Address at = address; at < end;) {
    const Address first = at & ~(page_bytes - 1);
    const Address next = std::min(end, first + kStretch * page_bytes);
    const long refused =
        base::raw_syscall(SYS_mincore, static_cast<long>(first), static_cast<long>(next - first),
                          reinterpret_cast<long>(states));
    if (refused != 0) return kNotMapped;
    base::for_each_page(at, next - at, page_bytes, [&](std::uint64_t page, Bytes on_it) {
      if ((states[page - first / page_bytes] & 1) != 0) resident += on_it;
    });
    at = next;
  }
  return resident;
}

void serve_residency(Segment& segment) {
  if (is_confined()) return;
  const auto& wanted = segment.writer.control()->wanted_residency;
  if (claim_request(image.served.residency, wanted) && !is_aggregated())
    serve_residency_slow(segment);
}

namespace {

constexpr std::size_t kBatch = 64;

constinit Mallctl ask = nullptr;

/// jemalloc's answer for one pointer; all 0 if the block is not jemalloc's.
struct UtilizationAnswer {
  std::size_t free_regions;
  std::size_t regions;
  std::size_t slab_bytes;
};
static_assert(sizeof(UtilizationAnswer) == 3 * sizeof(std::size_t));

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
    UtilizationAnswer answers[kBatch];
    std::size_t bytes = count_ * sizeof(UtilizationAnswer);
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
  void write(trace::Ref sample, const UtilizationAnswer& answer, std::uint64_t now) {
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

GEIGER_SLOW_PATH void serve_utilization_slow(Segment& segment) {
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
  if (is_ours && image.live.table.size() <= kMostSamples) serve_utilization_slow(segment);
}

}  // namespace geiger::capture
