// Reports the samples of arenas to geiger, as a custom heap separate from malloc's.
//
//   geiger::Heap heap("requests");
//   geiger::Arena arena({.sink = geiger::sink_of(heap.id())});
//
// The arena draws with the interval in force and adopts changes. Without geiger in the process it
// does not sample.
#pragma once

#include <cmath>
#include <cstdint>

#include "geiger/arena.h"
#include "geiger/geiger.h"

namespace geiger {
namespace arena_heap_detail {

inline geiger_heap heap_in(void* context) {
  return static_cast<geiger_heap>(reinterpret_cast<std::uintptr_t>(context));
}

/// T from lambda = -ln(1 - 1/T): exact below 2^49, as lambda is accurate to 3 ulp.
inline std::uint64_t interval_of(double lambda) {
  return static_cast<std::uint64_t>(std::llround(-1 / std::expm1(-lambda)));
}

inline void allocated(void* context, const ArenaSample& sample) noexcept {
  geiger_type type = GEIGER_TYPE(sample.type);
  const geiger_drawn drawn{{sample.address, sample.size, sample.size, sample.alignment,
                            sample.type != nullptr ? &type : nullptr},
                           interval_of(sample.lambda),
                           sample.offset,
                           sample.is_certain ? 1 : 0};
  (void)geiger_report_drawn(heap_in(context), &drawn);
}

inline void freed(void* context, const ArenaSample& sample) noexcept {
  (void)geiger_report_free(heap_in(context), sample.address);
}

inline std::uint64_t interval(void*) noexcept {
  std::uint64_t bytes = 0;
  (void)geiger_get_interval_in_force(&bytes);
  return bytes;
}

}  // namespace arena_heap_detail

/// A sink for ArenaOptions::sink that reports to `heap`. Any number of arenas may share a heap.
inline SampleSink sink_of(geiger_heap heap) {
  return {reinterpret_cast<void*>(static_cast<std::uintptr_t>(heap)), arena_heap_detail::allocated,
          arena_heap_detail::freed, arena_heap_detail::interval};
}

}  // namespace geiger
