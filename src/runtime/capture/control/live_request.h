// Shared code of the control page's requests that concern every live sample.
//
// Threads: a request is served by one. Signals: not within a handler's allocation more than its
// allocation is itself. Fork: a child serves requests of its own control page. Allocates: never.
#pragma once

#include <atomic>
#include <cstdint>

#include "runtime/capture/image/image.h"
#include "runtime/capture/image/segment.h"
#include "runtime/capture/sample/live_samples.h"

namespace geiger::capture {

/// Claims a new request number for the calling thread to serve. False: there is none, or another
/// thread serves it.
[[nodiscard]] inline bool claim_request(std::atomic<std::uint32_t>& served,
                                        const std::atomic<std::uint32_t>& wanted) {
  std::uint32_t last = served.load(std::memory_order_relaxed);
  const std::uint32_t now = wanted.load(std::memory_order_relaxed);
  return now != last && served.compare_exchange_strong(last, now, std::memory_order_relaxed);
}

/// Calls visit(address, record) for the live samples of the process's own heap that a segment
/// has the records of.
template <typename Visit>
void for_each_live_of(const Segment& segment, const Visit& visit) {
  image.live.table.for_each([&](std::uint64_t key, std::uint64_t value) {
    const bool is_own = is_of(segment, value) && key >> 48 == 0;
    if (is_own) visit(key, static_cast<trace::Ref>(value));
  });
}

}  // namespace geiger::capture
