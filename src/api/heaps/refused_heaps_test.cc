// Custom heaps where the capture has no memory, no names or no recording, and where reports
// interrupt one another.
#include <gtest/gtest.h>

#include <cmath>
#include <new>
#include <thread>

#include "api/test_capture.h"
#include "geiger/geiger.hpp"
#include "sampling/samplers.h"

namespace {

/// What allocations of this thread come to while it is out of memory.
thread_local bool is_out_of_memory = false;

}  // namespace

void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return is_out_of_memory ? nullptr : std::malloc(size);
}
void* operator new(std::size_t size) {
  void* memory = operator new(size, std::nothrow);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace geiger::api {
namespace {

using test::fake;
using test::kInterval;
using trace::TestTrace;

const void* at(std::uintptr_t number) { return reinterpret_cast<const void*>(number << 4); }

struct RefusedHeaps : ::testing::Test {
  RefusedHeaps() {
    fake = {};
    epoch = trace.epoch(kInterval);
    static std::uint32_t last_image = 1'000'000;
    fake.show(trace, ++last_image);
  }
  ~RefusedHeaps() override { fake = {}; }

  /// The interval to sample with from now on.
  void record(std::uint64_t interval = kInterval) const {
    fake.rate = {interval,          sampling::rate_of(interval), epoch,
                 fake.status.image, fake.status.first_image,     false};
  }
  static geiger_heap defined(const char* name) {
    geiger_heap heap = 0;
    EXPECT_EQ(geiger_define_heap(name, &heap), GEIGER_OK);
    return heap;
  }
  static geiger_heap_totals totals_of(geiger_heap heap) {
    geiger_heap_totals totals;
    EXPECT_EQ(geiger_get_heap_totals(heap, &totals), GEIGER_OK);
    return totals;
  }
  /// Runs `body` in a thread that has reported nothing yet.
  template <typename Body>
  static void in_new_thread(const Body& body) {
    std::thread(body).join();
  }

  TestTrace trace{kInterval};
  trace::Ref epoch = 0;
};

TEST_F(RefusedHeaps, WithoutMemoryNothingIsCountedAndThatIsSaid) {
  record();
  const geiger_heap heap = defined("no memory");
  fake.has_memory = false;
  // Two threads at once: no ended thread has left its counters to both.
  EXPECT_EQ(geiger_report_allocation(heap, at(1), 8), GEIGER_NO_MEMORY);
  in_new_thread([&] { EXPECT_EQ(geiger_report_allocation(heap, at(1), 8), GEIGER_NO_MEMORY); });
  EXPECT_EQ(totals_of(heap).bytes, 0);
  fake.has_memory = true;
  EXPECT_EQ(geiger_report_allocation(heap, at(1), 8), GEIGER_OK);
}

TEST_F(RefusedHeaps, BytesPassUntriedUntilSomethingRecords) {
  const geiger_heap heap = defined("not recording");
  const geiger_drawn drawn{
      .allocation = {at(7), 5000, 0, 0, nullptr}, .interval = 4096, .offset = 0, .is_certain = 1};
  EXPECT_EQ(geiger_report_allocation(heap, at(1), 100'000), GEIGER_OK);
  EXPECT_EQ(geiger_report_drawn(heap, &drawn), GEIGER_OK);
  EXPECT_TRUE(fake.reported.empty());
  EXPECT_EQ(totals_of(heap).bytes, 100'000);
  EXPECT_EQ(totals_of(heap).trials, 0);
  EXPECT_EQ(totals_of(heap).z, 0);
  record();
  // Asks again after a MiB.
  EXPECT_EQ(geiger_report_allocation(heap, at(2), 1 << 20), GEIGER_OK);
  EXPECT_EQ(geiger_report_allocation(heap, at(3), 1 << 20), GEIGER_OK);
  EXPECT_EQ(geiger_report_allocation(heap, at(4), 2 * kInterval), GEIGER_OK);
  EXPECT_GE(totals_of(heap).certain_objects, 2);
  EXPECT_EQ(geiger_report_drawn(heap, &drawn), GEIGER_OK);
  EXPECT_EQ(fake.reported.back().address, 0x70U);
  EXPECT_TRUE(fake.reported.back().is_certain);
}

TEST_F(RefusedHeaps, AnotherImageIsDrawnAnew) {
  const geiger_heap heap = defined("images");
  record();
  EXPECT_EQ(geiger_report_allocation(heap, at(1), 2 * kInterval), GEIGER_OK);
  fake.rate.epoch += 8;
  fake.rate.interval = 4 * kInterval;
  fake.rate.lambda = sampling::rate_of(fake.rate.interval);
  EXPECT_EQ(geiger_report_allocation(heap, at(2), 2 * kInterval), GEIGER_OK);
  EXPECT_EQ(fake.reported.at(1).rate.interval, kInterval) << "what it was drawn with";
  EXPECT_EQ(geiger_report_allocation(heap, at(3), 8 * kInterval), GEIGER_OK);
  EXPECT_EQ(fake.reported.at(2).rate.interval, 4 * kInterval);
  fake.rate.image += 1;
  fake.rate.epoch += 8;
  EXPECT_EQ(geiger_report_allocation(heap, at(4), 8 * kInterval), GEIGER_OK);
  EXPECT_EQ(fake.reported.size(), 4U);
}

/// What a handler's report comes to while the thread is in the slow path of one.
TEST_F(RefusedHeaps, AReportWithinAReportIsCountedAndNotTried) {
  record();
  const geiger_heap heap = defined("interrupted");
  const geiger_heap other = defined("reported to in between");
  EXPECT_EQ(geiger_report_allocation(other, at(1), 1), GEIGER_OK);
  fake.at_rate = [&] {
    EXPECT_EQ(geiger_report_allocation(other, at(2), 10 * kInterval), GEIGER_BUSY);
  };
  EXPECT_EQ(geiger_report_allocation(heap, at(3), 2 * kInterval), GEIGER_OK);
  EXPECT_EQ(totals_of(other).interrupted, 1);
  EXPECT_EQ(totals_of(other).bytes, 1) << "its bytes are put back";
  // To the same heap, whether it would have fitted or not.
  for (const std::uint64_t size : {std::uint64_t{1}, 100 * kInterval}) {
    fake.at_rate = [&] {
      EXPECT_EQ(geiger_report_allocation(heap, at(4), size), GEIGER_BUSY) << size;
    };
    EXPECT_EQ(geiger_report_allocation(heap, at(5), 3 * kInterval), GEIGER_OK);
  }
  EXPECT_EQ(totals_of(heap).interrupted, 2);
  EXPECT_EQ(totals_of(heap).bytes, 8 * kInterval);
  EXPECT_EQ(totals_of(heap).certain_bytes, 8 * kInterval);
  EXPECT_EQ(totals_of(heap).trials, 0);
}

TEST_F(RefusedHeaps, AReportWithinAThreadsFirstIsTurnedAway) {
  record();
  const geiger_heap heap = defined("first");
  const geiger_heap other = defined("second");
  in_new_thread([&] {
    fake.at_allocate = [&] {
      EXPECT_EQ(geiger_report_allocation(heap, at(2), 50), GEIGER_BUSY) << "no counters yet";
      EXPECT_EQ(geiger_report_allocation(other, at(2), 50), GEIGER_BUSY);
    };
    EXPECT_EQ(geiger_report_allocation(heap, at(1), 2 * kInterval), GEIGER_OK);
  });
  fake.at_rate = [&] {
    EXPECT_EQ(geiger_report_allocation(other, at(3), 50), GEIGER_BUSY) << "no counter of it";
  };
  EXPECT_EQ(geiger_report_allocation(heap, at(4), 2 * kInterval), GEIGER_OK);
  EXPECT_EQ(totals_of(heap).interrupted, 0);
  EXPECT_EQ(totals_of(heap).bytes, 4 * kInterval);
  EXPECT_EQ(totals_of(other).bytes, 0);
}

/// Reports once more when its thread's counters have been given back.
struct Late {
  geiger_heap heap = 0;
  int reports = 0;
  geiger_status* last = nullptr;
  ~Late() {
    for (int i = 0; i < reports; ++i) *last = geiger_report_allocation(heap, at(9), 2 * kInterval);
  }
};

TEST_F(RefusedHeaps, ThreadsInTheirLastDestructorsAreLentCounters) {
  record();
  const geiger_heap heap = defined("late");
  geiger_status last = GEIGER_THREW;
  in_new_thread([&] {
    thread_local Late late;  // Made first, so it goes last.
    late.heap = heap;
    late.last = &last;
    late.reports = 2;
    EXPECT_EQ(geiger_report_allocation(heap, at(8), 2 * kInterval), GEIGER_OK);
  });
  EXPECT_EQ(last, GEIGER_OK);
  EXPECT_EQ(totals_of(heap).certain_objects, 3);
  fake.has_memory = false;
  // The counters that were lent can be had again.
  in_new_thread(
      [&] { EXPECT_EQ(geiger_report_allocation(heap, at(10), 2 * kInterval), GEIGER_OK); });
}

TEST_F(RefusedHeaps, ArgumentsThatCannotBeAreRefused) {
  record();
  const geiger_heap heap = defined("arguments");
  geiger_drawn drawn{
      .allocation = {at(1), 5000, 0, 0, nullptr}, .interval = 4096, .offset = 1, .is_certain = 0};
  geiger_allocation allocation{at(1), 100, 0, 3, nullptr};
  EXPECT_EQ(geiger_report_allocation_of(heap, nullptr), GEIGER_BAD_ARGUMENT);
  EXPECT_EQ(geiger_report_allocation_of(heap, &allocation), GEIGER_BAD_ARGUMENT);
  allocation.alignment = 8;
  allocation.usable = ~std::size_t{0};
  EXPECT_EQ(geiger_report_allocation_of(heap, &allocation), GEIGER_BAD_ARGUMENT);
  EXPECT_EQ(geiger_report_drawn(heap, nullptr), GEIGER_BAD_ARGUMENT);
  EXPECT_EQ(geiger_report_drawn(heap + 1, &drawn), GEIGER_WRONG_HEAP);
  EXPECT_EQ(geiger_report_drawn(GEIGER_MAX_HEAPS + 1, &drawn), GEIGER_WRONG_HEAP);
  drawn.allocation.address = nullptr;
  EXPECT_EQ(geiger_report_drawn(heap, &drawn), GEIGER_BAD_ARGUMENT);
  drawn.allocation.address = at(1);
  drawn.offset = 5000;
  EXPECT_EQ(geiger_report_drawn(heap, &drawn), GEIGER_BAD_ARGUMENT);
  drawn.interval = GEIGER_MAX_INTERVAL + 1;
  EXPECT_EQ(geiger_report_drawn(heap, &drawn), GEIGER_BAD_INTERVAL);
  drawn.interval = 0;
  EXPECT_EQ(geiger_report_drawn(heap, &drawn), GEIGER_BAD_INTERVAL);
  EXPECT_EQ(geiger_report_free(heap, nullptr), GEIGER_BAD_ARGUMENT);
  EXPECT_EQ(geiger_report_free(heap, reinterpret_cast<const void*>(std::uint64_t{1} << 48)),
            GEIGER_BAD_ARGUMENT);
  EXPECT_EQ(geiger_report_free(heap + 1, at(1)), GEIGER_WRONG_HEAP);
  EXPECT_EQ(geiger_report_reset(heap + 1), GEIGER_WRONG_HEAP);
  EXPECT_EQ(geiger_get_heap_totals(heap + 1, nullptr), GEIGER_BAD_ARGUMENT);
  EXPECT_EQ(geiger_define_heap(nullptr, nullptr), GEIGER_BAD_ARGUMENT);
  EXPECT_EQ(geiger_get_interval_in_force(nullptr), GEIGER_BAD_ARGUMENT);
  EXPECT_TRUE(fake.reported.empty());
}

TEST_F(RefusedHeaps, SmallReportsOfWhatIsNotDrawnTakeNoOtherPath) {
  record(GEIGER_MAX_INTERVAL);
  const geiger_heap heap = defined("small");
  const geiger_allocation small{at(2), 1, 16, 8, nullptr};
  ASSERT_EQ(geiger_report_allocation(heap, at(1), 1), GEIGER_OK);
  fake.at_rate = [] { ADD_FAILURE() << "nothing in it was drawn"; };
  EXPECT_EQ(geiger_report_allocation_of(heap, &small), GEIGER_OK);
  EXPECT_EQ(geiger_report_allocation(heap, at(3), 1), GEIGER_OK);
}

TEST_F(RefusedHeaps, OneHeapIsResetAmongSeveral) {
  const geiger_heap heap = defined("reset");
  const std::uint64_t own = std::uint64_t{heap} << 48;
  fake.live = {{own | 0x10, 1}, {0x20, 2}, {(own + (std::uint64_t{1} << 48)) | 0x30, 3}};
  EXPECT_EQ(geiger_report_reset(heap), GEIGER_OK);
  EXPECT_EQ(fake.freed, (std::vector<std::uint64_t>{0x10}));
}

TEST_F(RefusedHeaps, ThereAreSoManyAndNoMore) {
  geiger_heap heap = 0;
  for (int i = 0; i <= GEIGER_MAX_HEAPS && heap != GEIGER_MAX_HEAPS; ++i) {
    ASSERT_EQ(geiger_define_heap(("heap " + std::to_string(i)).c_str(), &heap), GEIGER_OK);
  }
  ASSERT_EQ(heap, GEIGER_MAX_HEAPS);
  EXPECT_EQ(geiger_define_heap("one more", &heap), GEIGER_LIMIT);
  EXPECT_EQ(heap, 0);
  EXPECT_EQ(geiger_define_heap("heap 0", &heap), GEIGER_OK) << "known before";
  record();
  EXPECT_EQ(geiger_report_allocation(GEIGER_MAX_HEAPS, at(1), 2 * kInterval), GEIGER_OK);
  EXPECT_EQ(geiger_report_allocation(GEIGER_MAX_HEAPS + 1, at(1), 8), GEIGER_WRONG_HEAP);
  EXPECT_EQ(geiger_report_allocation(0, at(1), 8), GEIGER_WRONG_HEAP);
}

TEST_F(RefusedHeaps, ASnapshotThatFindsNoMemoryIsSaid) {
  for (trace::Ref i = 0; i < 5000; ++i) fake.live.emplace_back(i, epoch);
  geiger_profile profile;
  fake.at_live = [] { is_out_of_memory = true; };
  const geiger_status status = geiger_take_snapshot(GEIGER_LIVE, &profile);
  is_out_of_memory = false;
  EXPECT_EQ(status, GEIGER_NO_MEMORY);
  EXPECT_EQ(profile.id, 0);
}

}  // namespace
}  // namespace geiger::api
