// Continues a recording in the next segment while threads are at places where they hardly ever are.
#include <gtest/gtest.h>

#include "runtime/capture/control/confinement.h"
#include "runtime/capture/image/checkpoint.h"
#include "runtime/capture/sample/live_samples.h"
#include "runtime/capture/test_recording.h"
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
