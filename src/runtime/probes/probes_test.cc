// No tool is attached here: tests/events.py checks that the probes' notes are right. What prepares
// their arguments must take any record.
#include "runtime/probes/probes.h"

#include <gtest/gtest.h>

#include <limits>

namespace geiger::probes {
namespace {

trace::SampleRecord sample_of(std::uint16_t heap) {
  trace::SampleRecord record{};
  record.time = 100;
  record.address = 0x1000;
  record.requested_kind = 64 | std::uint64_t{255} << 56;  // An alignment of 2^255.
  record.usable_heap = 80 | std::uint64_t{heap} << 48;
  return record;
}

TEST(Probes, TakeRecordsOfAnyHeap) {
  for (const std::uint16_t heap : {std::uint16_t{0}, std::uint16_t{1}, std::uint16_t{65535}}) {
    const trace::SampleRecord sample = sample_of(heap);
    fire_sample(1, sample, 0.001);
    fire_sample(1, sample, std::numeric_limits<double>::infinity());
    trace::FreeRecord freed{};
    for (const Nanoseconds time : {0, 100, 101}) {  // Before it was allocated, too.
      freed.time = time;
      fire_free(1, sample, freed);
    }
  }
  fire_mark("mark", 4, 7);
  fire_interval(4096, 0.001);
  fire_mapping({});
}

TEST(Probes, AreWantedByWhoRaisesTheirSemaphores) {
  EXPECT_FALSE(wants_samples() || wants_frees() || wants_marks());
  EXPECT_FALSE(wants_intervals() || wants_mappings());
  otel_memory_alloc_semaphore = 1;
  geiger_free_semaphore = 2;
  EXPECT_TRUE(wants_samples() && wants_frees());
  otel_memory_alloc_semaphore = 0;
  geiger_free_semaphore = 0;
}

}  // namespace
}  // namespace geiger::probes
