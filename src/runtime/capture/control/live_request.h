// Shared code for requests on the control page that concern all live samples.
//
// Threads: one thread serves a request. Signals: as safe within a handler as the handler's
// allocation itself. Fork: a child serves requests of its own control page. Allocates: never.
#pragma once

#include <atomic>
#include <cstdint>

#include "runtime/capture/image/image.h"
#include "runtime/capture/image/segment.h"
#include "runtime/capture/sample/live_samples.h"

namespace geiger::capture {

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

}  // namespace geiger::capture
