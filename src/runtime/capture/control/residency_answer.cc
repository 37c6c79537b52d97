#include "runtime/capture/control/residency_answer.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/attributes.h"
#include "base/clock.h"
#include "base/pages.h"
#include "base/raw_syscall.h"
#include "runtime/capture/control/confinement.h"
#include "runtime/capture/control/live_request.h"
#include "runtime/capture/sample/write.h"
#include "trace/append.h"

namespace geiger::capture {
namespace {

constexpr std::size_t kMostSamples = 65536;
constexpr std::uint64_t kMostPages = std::uint64_t{1} << 20;
/// Pages per mincore call: handlers may run on 16 KiB of stack.
constexpr std::size_t kStretch = 256;

/// Writes the records that answer one request.
class Answer {
 public:
  explicit Answer(Segment& segment)
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

GEIGER_SLOW_PATH void serve_slow(Segment& segment) {
  Answer answer(segment);
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
  if (claim_request(image.served.residency, wanted) && !is_aggregated()) serve_slow(segment);
}

}  // namespace geiger::capture
