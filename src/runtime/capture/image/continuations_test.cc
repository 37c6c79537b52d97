// Continues a recording in the next segment while threads are at places where they hardly ever are.
#include <gtest/gtest.h>

#include "runtime/capture/control/confinement.h"
#include "runtime/capture/image/checkpoint.h"
#include "runtime/capture/sample/live_samples.h"
#include "runtime/capture/test_recording.h"
#include "runtime/capture/thread/settling.h"
#include "runtime/capture/thread/thread_state.h"

namespace geiger::capture {
namespace {

using base::in_child;
using test::address_of;
using test::allocate;
using test::control;
using test::drops;
using test::header;
using test::kOutermostFrame;
using trace::DropCause;

class Continuations : public test::Recorded {};

TEST_F(Continuations, AreOneThreadsAtATime) {
  EXPECT_EQ(recorded("",
                     [] {
                       ThreadState other{};
                       other.lifecycle = kLive;
                       control().wanted_segment.fetch_add(1);
                       image.segments.continuation.by.store(&other);
                       allocate(2);
                       GEIGER_OR_FAIL(header().segment == 0);
                       other.lifecycle = kFree;  // It has ended, so no thread completes it.
                       allocate(3);
                       GEIGER_OR_FAIL(header().segment == 1 && image.live.table.size() == 3);
                       image.segments.continuation.by.store(own_state());
                       image.segments.continuation.frame = kOutermostFrame;
                       control().wanted_segment.fetch_add(1);
                       allocate(4);  // Inside its own continuation.
                       GEIGER_OR_FAIL(header().segment == 1);
                       image.segments.continuation.frame = nullptr;
                       allocate(5);  // A jump abandoned it.
                       GEIGER_OR_FAIL(header().segment == 2 && image.live.table.size() == 5);
                       return 0;
                     }),
            0);
}

TEST_F(Continuations, ThatWereLeftAreFinishedByTheNextThread) {
  EXPECT_EQ(recorded("",
                     [] {
                       const auto key = reinterpret_cast<std::uint64_t>(address_of(1));
                       Segment& first = current_segment();
                       const std::uint64_t in_first = image.live.table.take(key);
                       control().wanted_segment.fetch_add(1);
                       allocate(2);
                       GEIGER_OR_FAIL(header().segment == 1 && image.live.table.size() == 1);
                       GEIGER_OR_FAIL(image.live.table.insert(key, in_first));
                       image.segments.continuation.before = &first;
                       allocate(3);
                       GEIGER_OR_FAIL(image.segments.continuation.before == nullptr);
                       GEIGER_OR_FAIL(is_of(current_segment(), image.live.table.take(key)));
                       return 0;
                     }),
            0);
}

// A sample written into a segment while another thread continued in the next.
TEST_F(Continuations, CarryWhatComesBetweenTwoSegments) {
  EXPECT_EQ(recorded("GEIGER_CAPACITY=262144\n",
                     [] {
                       const auto key = reinterpret_cast<std::uint64_t>(address_of(1));
                       const Segment& first = current_segment();
                       const std::uint64_t in_first = image.live.table.take(key);
                       control().wanted_segment.fetch_add(1);
                       allocate(2);
                       GEIGER_OR_FAIL(image.live.table.insert(key, in_first));
                       carry(current_segment(), first, key, in_first);
                       const std::uint64_t carried = image.live.table.take(key);
                       GEIGER_OR_FAIL(is_of(current_segment(), carried));
                       carry(current_segment(), first, key, in_first);  // No longer live: void.
                       GEIGER_OR_FAIL(drops(DropCause::kUncarried) == 0);
                       test::leave_room(8);
                       carry(current_segment(), first, key, in_first);
                       GEIGER_OR_FAIL(drops(DropCause::kUncarried) == 1);
                       return 0;
                     }),
            0);
}

// A thread that was between its decision and its record while others continued six times.
TEST_F(Continuations, LeaveASampleWhereItWasCounted) {
  EXPECT_EQ(recorded("",
                     [] {
                       Segment& first = current_segment();
                       const std::uint64_t counted = own_state()->record->certain_count.load();
                       const Decision decision = decide(64);
                       GEIGER_OR_FAIL(decision.is_sample);
                       GEIGER_OR_FAIL(own_state()->record->certain_count.load() == counted + 1);
                       for (int i = 0; i < 6; ++i) {
                         control().wanted_segment.fetch_add(1);
                         go_on_in_next();
                       }
                       GEIGER_OR_FAIL(header().segment == 6);
                       const Bytes tail = first.writer.tail();
                       record(decision, {address_of(9), 64, 64, trace::EntryPoint::kMalloc, 16},
                              unwind::caller_registers());
                       GEIGER_OR_FAIL(first.number.load() == decision.segment);
                       GEIGER_OR_FAIL(first.writer.tail() > tail);
                       const auto key = reinterpret_cast<std::uint64_t>(address_of(9));
                       const std::uint64_t value = image.live.table.take(key);
                       GEIGER_OR_FAIL(is_of(current_segment(), value));
                       const auto& carried = current_segment().writer.at<trace::CarriedRecord>(
                           static_cast<trace::Ref>(value));
                       GEIGER_OR_FAIL(carried.previous == 0 && carried.sample.time != 0);
                       return 0;
                     }),
            0);
}

/// What the thread's records in a segment say that it has allocated.
Bytes total_in(const Segment& segment, Bytes since) {
  Bytes total = 0;
  const auto tail = static_cast<trace::Ref>(segment.writer.tail() / 8);
  for (auto ref = static_cast<trace::Ref>(since / 8); ref < tail;) {
    const auto& thread = segment.writer.at<trace::ThreadRecord>(ref);
    const auto header = trace::RecordHeader::unpack(thread.header);
    const bool is_own = header.type == trace::RecordType::kThread &&
                        (header.flags & trace::kFlagCarriedThread) == 0;
    if (is_own) total += thread.bytes.load() + thread.pending.load();
    ref += header.words;
  }
  return total;
}

// What was allocated before a segment is not in its totals, though it is settled there.
TEST_F(Continuations, BeginTotalsAnew) {
  EXPECT_EQ(recorded("",
                     [] {
                       constexpr Bytes kFirst = trace::kRecordsOffset;
                       const auto go_on = [] {
                         control().wanted_segment.fetch_add(1);
                         go_on_in_next();
                         return &current_segment();
                       };
                       GEIGER_OR_FAIL(set_interval(kMiB));
                       follow_now();
                       Segment* first = &current_segment();
                       const Bytes begun = total_in(*first, kFirst);
                       GEIGER_OR_FAIL(!exhausts(1000));
                       Segment* second = go_on();
                       GEIGER_OR_FAIL(total_in(*first, kFirst) == begun + 1000);
                       GEIGER_OR_FAIL(!exhausts(200));
                       Segment* third = go_on();  // In the second the thread took no slow path.
                       GEIGER_OR_FAIL(total_in(*second, kFirst) == 200);
                       GEIGER_OR_FAIL(!exhausts(30));
                       follow_now();
                       GEIGER_OR_FAIL(total_in(*third, kFirst) == 30);
                       GEIGER_OR_FAIL(!exhausts(4));
                       settle_for_good(*own_state());
                       GEIGER_OR_FAIL(total_in(*third, kFirst) == 34);
                       GEIGER_OR_FAIL(total_in(*second, kFirst) == 200);
                       return 0;
                     }),
            0);
}

TEST_F(Continuations, NeedAPlaceThatNobodyIsIn) {
  EXPECT_EQ(recorded("",
                     [] {
                       ThreadState* state = own_state();
                       for (int i = 0; i < 6; ++i) {
                         auto* fresh = new ThreadState{};
                         fresh->next = state->next;
                         fresh->pin = current_segment().number.load();
                         state->next = fresh;
                         control().wanted_segment.fetch_add(1);
                         allocate(10 + static_cast<std::uint64_t>(i));
                       }
                       GEIGER_OR_FAIL(header().segment == kSegments - 1 && is_recording());
                       return 0;
                     }),
            0);
}

TEST_F(Continuations, AreNotForAConfinedProcess) {
  EXPECT_EQ(in_child([&] {
              GEIGER_OR_FAIL(directory_.attach("GEIGER_SEGMENT=32768\n") == 0);
              allocate(1);
              const Attempt failed(base::Confinement::kTotal);
              GEIGER_OR_FAIL(is_confined());
              failed.end(false);
              GEIGER_OR_FAIL(!is_confined());
              const Attempt attempt(base::Confinement::kToAllocators);
              attempt.end(true);
              for (std::uint64_t i = 2; i < 1500; ++i) allocate(i);
              GEIGER_OR_FAIL(header().segment == 0 && is_recording());
              end_thread();
              GEIGER_OR_FAIL(own_state() == nullptr);
              const Attempt total(base::Confinement::kTotal);
              total.end(true);
              GEIGER_OR_FAIL(!is_recording());
              base::confinement = base::Confinement::kNone;
              return 0;
            }),
            0);
}

}  // namespace
}  // namespace geiger::capture
