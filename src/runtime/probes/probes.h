// USDT probes: what bpftrace, perf and eBPF profilers attach to (docs/guide/events.md).
//
//   geiger        everything that a record holds
//   otel_memory   the OpenTelemetry contract for memory profiling: alloc(ptr, size,
//                 weighted_bytes) and free(ptr), in the registers of a call's arguments
//
// A probe is a nop and a note in the library's file. Its semaphore, which an attaching tool raises,
// guards whatever prepares its arguments: unused it costs two loads and a branch, in the slow path.
//
// Threads / Signals / Fork: a child by fork is attached to where its parent was, as the
// tool decides. Allocates: never.
#pragma once

#include <cstdint>

#include "base/units.h"
#include "trace/format.h"

// Found by these names through the notes, and raised by the kernel in this memory.
extern "C" {
[[gnu::visibility("hidden")]] extern volatile unsigned short geiger_sample_semaphore;
[[gnu::visibility("hidden")]] extern volatile unsigned short geiger_free_semaphore;
[[gnu::visibility("hidden")]] extern volatile unsigned short geiger_mark_semaphore;
[[gnu::visibility("hidden")]] extern volatile unsigned short geiger_interval_semaphore;
[[gnu::visibility("hidden")]] extern volatile unsigned short geiger_mapping_semaphore;
[[gnu::visibility("hidden")]] extern volatile unsigned short otel_memory_alloc_semaphore;
[[gnu::visibility("hidden")]] extern volatile unsigned short otel_memory_free_semaphore;
}

namespace geiger::probes {

/// Whether a tool is attached to a probe of samples.
[[nodiscard]] inline bool wants_samples() {
  return (geiger_sample_semaphore | otel_memory_alloc_semaphore) != 0;
}
[[nodiscard]] inline bool wants_frees() {
  return (geiger_free_semaphore | otel_memory_free_semaphore) != 0;
}
[[nodiscard]] inline bool wants_marks() { return geiger_mark_semaphore != 0; }
[[nodiscard]] inline bool wants_intervals() { return geiger_interval_semaphore != 0; }
[[nodiscard]] inline bool wants_mappings() { return geiger_mapping_semaphore != 0; }

/// Whether a tool is attached to a probe that only a recording fires (marks are sent by the
/// program).
[[nodiscard]] inline bool wants_recording() {
  return wants_samples() || wants_frees() || wants_intervals() || wants_mappings();
}

/// `lambda`: the rate that drew the sample; +inf for a certain one.
void fire_sample(trace::Ref sample, const trace::SampleRecord& record, double lambda);
void fire_free(trace::Ref sample, const trace::SampleRecord& freed,
               const trace::FreeRecord& record);
/// `text` need not end in a NUL.
void fire_mark(const char* text, std::uint32_t bytes, Nanoseconds time);
void fire_interval(Bytes interval, double lambda);
void fire_mapping(const trace::MappingRecord& record);

}  // namespace geiger::probes
