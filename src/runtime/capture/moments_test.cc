// Moments of a recording that a test must stage: a slow path inside another one, a thread that ends
// elsewhere, a request at the same time.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "runtime/capture/interface.h"
#include "runtime/capture/program/names.h"
#include "runtime/capture/test_recording.h"
#include "runtime/capture/thread/enrolment.h"
#include "runtime/capture/thread/settling.h"
#include "runtime/capture/thread/thread_state.h"

namespace geiger::capture {
namespace {

using base::in_child;
using test::address_of;
using test::allocate;
using test::control;
using test::drops;
using test::free_again;
using test::header;
using test::kOutermostFrame;
using trace::DropCause;

class Moments : public test::Recorded {};

// ---------------------------------------------------------------- slow paths ---

TEST_F(Moments, WithinADecisionAreCountedAsDropped) {
  EXPECT_EQ(recorded("",
                     [] {
                       ThreadState& state = *own_state();
                       state.armed.store(kTaken);
                       state.deciding_frame = kOutermostFrame;
                       for (int i = 0; i < 16; ++i) allocate(10);
                       GEIGER_OR_FAIL(drops(DropCause::kReentered) == 16);
                       GEIGER_OR_FAIL(image.live.table.size() == 1);
                       follow_now();  // Leaves the counter to the decision.
                       GEIGER_OR_FAIL(state.armed.load() == kTaken);
                       allocate(11);  // Signals do not nest so deeply: a jump abandoned it.
                       GEIGER_OR_FAIL(image.live.table.size() == 2 && state.armed.load() != kTaken);
                       return 0;
                     }),
            0);
}

TEST_F(Moments, AfterADecisionThatWasLeftByAJumpAreAsEver) {
  EXPECT_EQ(
      recorded("",
               [] {
                 own_state()->armed.store(kTaken);
                 own_state()->deciding_frame = nullptr;
                 allocate(10);
                 GEIGER_OR_FAIL(drops(DropCause::kReentered) == 0 && image.live.table.size() == 2);
                 return 0;
               }),
      0);
}

TEST_F(Moments, ThatEndAThreadWithinItsDecisionLeaveItsTotals) {
  EXPECT_EQ(recorded("",
                     [] {
                       ThreadState& state = *own_state();
                       state.armed.store(kTaken);
                       end_thread();
                       GEIGER_OR_FAIL(state.lifecycle.load() == kFree && !state.is_ending);
                       return 0;
                     }),
            0);
}

// Bytes that a handler allocated between the fast path and the decision.
TEST_F(Moments, BeforeADecisionArePutToTrial) {
  EXPECT_EQ(recorded("",
                     [] {
                       const ThreadState& state = *own_state();
                       const Bytes before = state.record->bytes.load();
                       const Bytes armed = state.armed.load();
                       tls.countdown = std::uint64_t{0} - 5000 - 64;
                       static_cast<void>(decide(64));
                       GEIGER_OR_FAIL(state.record->bytes.load() == before + armed + 5000 + 64);
                       GEIGER_OR_FAIL(drops(DropCause::kReentered) == 1);
                       tls.countdown = std::uint64_t{0} - 2 * kMiB;  // Left by a jump there.
                       static_cast<void>(decide(64));
                       GEIGER_OR_FAIL(state.record->bytes.load() < before + kMiB);
                       return 0;
                     }),
            0);
}

TEST_F(Moments, WithinAWalkHaveShorterStacks) {
  EXPECT_EQ(recorded("",
                     [] {
                       ThreadState& state = *own_state();
                       state.walking_frame = kOutermostFrame;
                       allocate(10);
                       GEIGER_OR_FAIL(image.live.table.size() == 2);
                       GEIGER_OR_FAIL(state.walking_frame == kOutermostFrame);
                       state.walking_frame = nullptr;
                       return 0;
                     }),
            0);
}

TEST_F(Moments, OfAllocationsThatNobodyCanServeAreNone) {
  EXPECT_EQ(recorded("",
                     [] {
                       const std::uint64_t before = tls.countdown;
                       tls.countdown -= Bytes{1} << 48;
                       GEIGER_OR_FAIL(!decide(Bytes{1} << 48).is_sample);
                       GEIGER_OR_FAIL(tls.countdown == before);
                       return 0;
                     }),
            0);
}

TEST_F(Moments, OfAFailedAllocationAreTakenBackWhereTheyCan) {
  EXPECT_EQ(recorded("",
                     [] {
                       const trace::ThreadRecord& totals = *own_state()->record;
                       const std::uint64_t certain = totals.certain_count.load();
                       Decision decision = decide(64);
                       GEIGER_OR_FAIL(totals.certain_count.load() == certain + 1);
                       retract(decision, 64);
                       GEIGER_OR_FAIL(totals.certain_count.load() == certain);
                       decision.segment += 1;  // It ended meanwhile.
                       retract(decision, 64);
                       decision.segment -= 1;
                       decision.is_certain = false;
                       retract(decision, 64);
                       retract({}, 64);
                       GEIGER_OR_FAIL(totals.certain_count.load() == certain);
                       const Decision late = decide(64);
                       detach();
                       retract(late, 64);
                       record(late, {address_of(9), 64, 64, trace::EntryPoint::kMalloc, 0}, {});
                       GEIGER_OR_FAIL(totals.certain_count.load() == certain + 1);
                       GEIGER_OR_FAIL(image.live.table.size() == 1);
                       return 0;
                     }),
            0);
}

TEST_F(Moments, OfAnAddressThatComesBackTellAnUnseenFree) {
  EXPECT_EQ(recorded("GEIGER_MODE=freestacks\n",
                     [] {
                       allocate(1);
                       GEIGER_OR_FAIL(drops(DropCause::kUnseenFree) == 1);
                       GEIGER_OR_FAIL(image.live.table.size() == 1);
                       const std::uint64_t taken = take(address_of(1));
                       GEIGER_OR_FAIL(taken != 0 && image.live.table.size() == 0);
                       put_back(address_of(1), taken);
                       put_back(address_of(2), 0);
                       GEIGER_OR_FAIL(image.live.table.size() == 1);
                       free_again(1);
                       return image.live.table.size() == 0 ? 0 : 1;
                     }),
            0);
}

// ------------------------------------------------------------------- threads ---

/// A joined thread exists in the kernel for another moment, and looks alive until then.
void wait_until_threads_are(int wanted) {
  const auto count = [] {
    const std::filesystem::directory_iterator tasks("/proc/self/task");
    return std::distance(begin(tasks), end(tasks));
  };
  while (count() > wanted) std::this_thread::yield();
}

TEST_F(Moments, OfThreadsThatCameBeforeAreSettledAtTheEnd) {
  EXPECT_EQ(in_child([&] {
              std::atomic<int> step{0};
              std::thread before([&] {
                while (step.load() == 0) std::this_thread::yield();
                allocate(5);
                allocate(6, 8);  // Passes by.
                step = 2;
                while (step.load() == 2) std::this_thread::yield();
              });
              GEIGER_OR_FAIL(directory_.attach() == 0);
              step = 1;
              while (step.load() != 2) std::this_thread::yield();
              const ThreadState& state = *first_state();
              GEIGER_OR_FAIL(state.is_foreign);
              std::thread([] { allocate(7); }).join();  // Its end is not seen either.
              wait_until_threads_are(2);
              detach();
              GEIGER_OR_FAIL(state.record->armed.load() == 0 && state.record->pending.load() == 8);
              GEIGER_OR_FAIL(first_state()->record->armed.load() != 0);
              step = 3;
              before.join();
              wait_until_threads_are(1);
              GEIGER_OR_FAIL(directory_.attach() == 0);  // Their states are free again.
              for (const ThreadState* one = first_state(); one != nullptr; one = one->next) {
                GEIGER_OR_FAIL(one->lifecycle.load() == kFree);
              }
              return 0;
            }),
            0);
}

TEST_F(Moments, OfThreadsThatAreSeenEnd) {
  EXPECT_EQ(recorded("",
                     [] {
                       std::thread([] {
                         begin_thread();
                         allocate(5);
                         allocate(6);
                         end_thread();
                       }).join();
                       const trace::ThreadRecord& ended = *first_state()->record;
                       GEIGER_OR_FAIL(ended.end.load() != 0 && ended.armed.load() == 0);
                       std::thread([] { end_thread(); }).join();  // Never allocated.
                       std::thread([] {
                         begin_thread();
                         allocate(7);
                         image.origin.generation++;  // As after a fork, before it allocates again.
                         end_thread();
                         image.origin.generation--;
                       }).join();
                       return 0;
                     }),
            0);
}

// A state is reused only when its owner no longer exists in the kernel.
TEST_F(Moments, OfThreadsThatLingerKeepTheirStates) {
  EXPECT_EQ(recorded("",
                     [] {
                       std::atomic<int> ended{0};
                       std::atomic<bool> may_go{false};
                       std::vector<std::thread> lingering;
                       for (std::uint64_t i = 0; i < 6; ++i) {
                         lingering.emplace_back([&, i] {
                           begin_thread();
                           allocate(10 + i);
                           end_thread();
                           ++ended;
                           while (!may_go.load()) std::this_thread::yield();
                         });
                         while (ended.load() != static_cast<int>(i) + 1) std::this_thread::yield();
                       }
                       const auto states = [] {
                         int count = 0;
                         for (auto* one = first_state(); one != nullptr; one = one->next) ++count;
                         return count;
                       };
                       GEIGER_OR_FAIL(states() == 7);  // With the main thread's.
                       may_go = true;
                       for (std::thread& thread : lingering) thread.join();
                       first_state()->tid = 0;  // As of one that gave it up.
                       for (int i = 0; i < 20; ++i) std::thread([] { allocate(30, 5000); }).join();
                       GEIGER_OR_FAIL(states() < 7 + 20);
                       return 0;
                     }),
            0);
}

// -------------------------------------------------------------------- requests ---

TEST_F(Moments, OfRequestsForAnInterval) {
  EXPECT_EQ(recorded("",
                     [] {
                       GEIGER_OR_FAIL(!set_interval(0) && !set_interval(kMostInterval + 1));
                       GEIGER_OR_FAIL(set_interval(64) && set_interval(4096));
                       GEIGER_OR_FAIL(largest_interval_in_use() == 4096);
                       std::thread([] { allocate(5, kMiB); }).join();
                       GEIGER_OR_FAIL(set_interval(128));
                       GEIGER_OR_FAIL(largest_interval_in_use() == 4096);
                       follow_now();
                       control().requested_interval.store(kMostInterval + 1);
                       allocate(6, kMiB);
                       GEIGER_OR_FAIL(own_state()->sampler.interval() == 128);
                       control().requested_interval.store(512);
                       allocate(7, kMiB);
                       allocate(8, kMiB);
                       GEIGER_OR_FAIL(own_state()->sampler.interval() == 512);
                       GEIGER_OR_FAIL(epoch_of_interval(current_segment(), 0) == 0);
                       GEIGER_OR_FAIL(rate_of_interval(512).interval == 512);
                       GEIGER_OR_FAIL(rate_of_interval(513).interval == 513);
                       GEIGER_OR_FAIL(rate_of_interval(0).image == 0);
                       return 0;
                     }),
            0);
}

TEST_F(Moments, OfBurstsDoubleTheInterval) {
  EXPECT_EQ(recorded("",
                     [] {
                       control().doubling_step.store(1 << 16);
                       for (std::uint64_t i = 2; i < 6000; ++i) allocate(i, 4096);
                       GEIGER_OR_FAIL(own_state()->sampler.interval() >= 128);
                       return 0;
                     }),
            0);
}

TEST_F(Moments, OfMarksOfAnyName) {
  EXPECT_EQ(recorded("",
                     [] {
                       GEIGER_OR_FAIL(!write_mark(nullptr, 3));
                       GEIGER_OR_FAIL(!write_mark("mark", kMaxNameBytes + 1));
                       GEIGER_OR_FAIL(write_mark("mark", 4));
                       return 0;
                     }),
            0);
}

}  // namespace
}  // namespace geiger::capture
