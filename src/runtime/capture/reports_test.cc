// Parts of a recording besides allocations: the allocator's slabs, and the program's custom heaps,
// mappings and children.
#include <gtest/gtest.h>
#include <link.h>
#include <sys/mman.h>

#include <cstring>
#include <string>

#include "runtime/capture/control/live_answers.h"
#include "runtime/capture/interface.h"
#include "runtime/capture/program/mappings.h"
#include "runtime/capture/program/names.h"
#include "runtime/capture/test_recording.h"
#include "runtime/capture/thread/thread_state.h"

namespace geiger::capture {
namespace {

using base::in_child;
using test::address_of;
using test::allocate;
using test::control;
using test::free_again;
using test::header;

class Reports : public test::Recorded {};

// --------------------------------------------------------------------- slabs ---

int g_answer;
std::size_t g_asked;

/// Slabs of 100 regions; the first answer has no regions, the second more free ones than regions.
int answer_utilization(const char*, void* old, std::size_t* bytes, void*, std::size_t) {
  auto* words = static_cast<std::size_t*>(old);
  const std::size_t count = *bytes / (3 * sizeof(std::size_t));
  g_asked += count;
  for (std::size_t i = 0; i < count; ++i) {
    words[3 * i] = i == 1 ? 101 : 50;
    words[3 * i + 1] = i == 0 ? 0 : 100;
    words[3 * i + 2] = 4096;
  }
  return g_answer;
}

TEST_F(Reports, OfTheAllocatorOnItsSlabs) {
  EXPECT_EQ(recorded("GEIGER_CAPACITY=262144\n",
                     [] {
                       const auto ask = [] { control().wanted_utilization.fetch_add(1); };
                       ask();
                       allocate(2);  // No allocator to ask.
                       set_mallctl(answer_utilization);
                       for (std::uint64_t i = 3; i <= 100; ++i) allocate(i);
                       GEIGER_OR_FAIL(g_asked == 3);
                       const std::uint64_t before = header().tail.load();
                       ask();
                       allocate(100);
                       GEIGER_OR_FAIL(g_asked == 3 + 100);
                       GEIGER_OR_FAIL(header().tail.load() - before > 90 * 40);
                       g_answer = 1;
                       ask();
                       allocate(101);
                       g_answer = 0;
                       ask();
                       test::leave_room(2000);
                       allocate(102);
                       GEIGER_OR_FAIL(!is_recording());
                       return 0;
                     }),
            0);
}

// ---------------------------------------------------------------- custom heaps ---

TEST_F(Reports, ThatAreWrong) {
  const NameId heap = define_name(trace::NameKind::kHeap, 3, "pool", 4);
  const NameId label = define_name(trace::NameKind::kLabel, 0, "pool", 4);
  EXPECT_EQ(
      in_child([&] {
        Report report;
        GEIGER_OR_FAIL(report_sample(report) == Reported::kNotRecording);
        GEIGER_OR_FAIL(report_free(label, 4096, {}) == Reported::kWrongHeap);
        GEIGER_OR_FAIL(report_free(heap, Bytes{1} << 48, {}) == Reported::kWrongAddress);
        GEIGER_OR_FAIL(directory_.attach() == 0);
        report.rate = current_rate();
        report.requested = report.usable = 100;
        report.heap = label;
        GEIGER_OR_FAIL(report_sample(report) == Reported::kWrongHeap);
        report.heap = heap;
        GEIGER_OR_FAIL(report_sample(report) == Reported::kWrongAddress);
        report.address = Bytes{1} << 48;
        GEIGER_OR_FAIL(report_sample(report) == Reported::kWrongAddress);
        report.address = 4096;
        report.rate.image += 1;
        GEIGER_OR_FAIL(report_sample(report) == Reported::kOtherImage);
        report.rate.image -= 1;
        control().paused.store(1);
        GEIGER_OR_FAIL(report_sample(report) == Reported::kYes && image.live.table.size() == 0);
        control().paused.store(0);
        report.type = define_name(trace::NameKind::kType, 0, "Order", 5);
        GEIGER_OR_FAIL(report_sample(report) == Reported::kYes && image.live.table.size() == 1);
        GEIGER_OR_FAIL(tls.naming.type == 0);
        GEIGER_OR_FAIL(report_free(heap, 8192, {}) == Reported::kYes);
        GEIGER_OR_FAIL(report_free(heap, 4096, {}) == Reported::kYes);
        GEIGER_OR_FAIL(image.live.table.size() == 0);
        return 0;
      }),
      0);
}

// -------------------------------------------------------------------- mappings ---

TEST_F(Reports, OfMappingsThatAreLeftOut) {
  EXPECT_EQ(recorded("",
                     [] {
                       const auto here = unwind::caller_registers();
                       const auto records = [&](auto change) {
                         const std::uint64_t before = header().tail.load();
                         change();
                         record_map(address_of(5), 4096, PROT_READ, MAP_PRIVATE, here);
                         return header().tail.load() != before;
                       };
                       GEIGER_OR_FAIL(records([] {}));
                       GEIGER_OR_FAIL(!records([] { control().paused.store(1); }));
                       GEIGER_OR_FAIL(records([] { control().paused.store(0); }));
                       record_remap({address_of(5), 4096, address_of(6), 8192, 1}, 0, here);
                       record_unmap(address_of(6), 8192, mapping_time(), here);
                       record_protect(address_of(6), 4096, PROT_NONE, here);
                       record_break(address_of(1), address_of(2), here);
                       const link_map nothing{};
                       leave_out(&nothing);
                       for (int i = 0; i < 20; ++i) leave_out(_r_debug.r_map);  // The test itself.
                       GEIGER_OR_FAIL(!records([] {}));
                       return 0;
                     }),
            0);
  EXPECT_EQ(recorded("GEIGER_MODE=nomappings\n",
                     [] {
                       const std::uint64_t before = header().tail.load();
                       record_map(address_of(5), 4096, 0, 0, unwind::caller_registers());
                       GEIGER_OR_FAIL(header().tail.load() == before);
                       return 0;
                     }),
            0);
}

// -------------------------------------------------------------------- children ---

TEST_F(Reports, OfAChildAreInItsOwnTrace) {
  for (const char* mode : {"", "GEIGER_MODE=nochildren\n", "GEIGER_SEGMENT=65536\n"}) {
    EXPECT_EQ(recorded(mode,
                       [&] {
                         const bool follows = std::strstr(mode, "nochildren") == nullptr;
                         const std::uint64_t seed = header().seed;
                         const int child = in_child([&] {
                           GEIGER_OR_FAIL(!is_recording());
                           GEIGER_OR_FAIL((current_rate().image != 0) == follows);
                           free_again(1);  // The parent's.
                           allocate(2);
                           GEIGER_OR_FAIL(is_recording() == follows);
                           if (follows) GEIGER_OR_FAIL(header().seed != seed);
                           GEIGER_OR_FAIL(in_child([] { return 0; }) == 0);  // Never allocates.
                           return 0;
                         });
                         GEIGER_OR_FAIL(child == 0);
                         free_again(1);
                         GEIGER_OR_FAIL(image.live.table.size() == 0);
                         return 0;
                       }),
              0)
        << mode;
  }
}

// Samples inherited from the parent do not matter in the child.
TEST_F(Reports, OfAChildThatThins) {
  EXPECT_EQ(
      recorded("GEIGER_LIVE=1024\n",
               [] {
                 for (std::uint64_t i = 2; i <= 600; ++i) allocate(i);
                 return in_child([] {
                   for (std::uint64_t i = 1001; i <= 1500; ++i) allocate(i);
                   GEIGER_OR_FAIL(image.live.thinning.load() == 1 && image.live.table.size() < 400);
                   return 0;
                 });
               }),
      0);
}

TEST_F(Reports, OfAChildThatMapsFirst) {
  EXPECT_EQ(recorded("",
                     [] {
                       return in_child([] {
                         tls.countdown = 50;
                         record_map(address_of(5), 4096, 0, 0, unwind::caller_registers());
                         GEIGER_OR_FAIL(is_recording() && tls.countdown == 0);
                         return 0;
                       });
                     }),
            0);
}

}  // namespace
}  // namespace geiger::capture
