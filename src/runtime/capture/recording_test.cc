// Recordings under rare conditions: refused calls, no memory, a full trace. Each is in its own
// process, which returns 0 or prints the condition that failed.
#include <errno.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <atomic>
#include <string>
#include <thread>

#include "base/attachment.h"
#include "runtime/capture/control/confinement.h"
#include "runtime/capture/interface.h"
#include "runtime/capture/program/mappings.h"
#include "runtime/capture/program/names.h"
#include "runtime/capture/tables/arena.h"
#include "runtime/capture/test_recording.h"
#include "runtime/capture/thread/enrolment.h"
#include "runtime/capture/thread/settling.h"
#include "runtime/capture/thread/thread_state.h"

namespace geiger::capture {
namespace {

using base::in_child;
using base::refuse_call;
using test::allocate;
using test::drops;
using test::free_again;
using test::header;
using test::leave_room;
using trace::DropCause;

class Recording : public testing::Test {
 protected:
  test::Directory directory_;
};

TEST_F(Recording, BeginsAgainWhenItHasEnded) {
  EXPECT_EQ(in_child([&] {
              GEIGER_OR_FAIL(may_attach() && std::string(trace_directory()).empty());
              GEIGER_OR_FAIL(attach("GEIGER_DIR=relative") == base::kBadSettings);
              GEIGER_OR_FAIL(directory_.attach() == 0);
              GEIGER_OR_FAIL(!may_attach() && trace_directory() == directory_.path());
              GEIGER_OR_FAIL(directory_.attach() == base::kIsRecording);
              allocate(1);
              detach();
              detach();
              GEIGER_OR_FAIL(may_attach() && !is_recording());
              allocate(2);
              GEIGER_OR_FAIL(directory_.attach() == 0 && image.live.table.size() == 0);
              allocate(3, 2 * kMiB);  // A thread tries again after allocating 1 MiB.
              GEIGER_OR_FAIL(image.live.table.size() == 1);
              return 0;
            }),
            0);
  EXPECT_EQ(directory_.traces(), 2);
}

TEST_F(Recording, SaysWhyItDoesNotBegin) {
  if (base::kIsSanitized) GTEST_SKIP();
  const auto error_where = [&](long number, int error) {
    return in_child([&] {
      refuse_call(number, error);
      return directory_.attach();
    });
  };
  EXPECT_EQ(error_where(SYS_openat, EACCES), EACCES);
  EXPECT_EQ(error_where(SYS_mmap, EPERM), ENOMEM);  // No page to detect a fork.
  EXPECT_EQ(in_child([&] { return attach(("GEIGER_DIR=/" + std::string(1000, 'd')).c_str()); }),
            ENAMETOOLONG);
  EXPECT_EQ(in_child([&] { return directory_.attach("GEIGER_MODE=root=1,nochildren\n"); }), ENOMEM);
}

// Names of files are tried one after another, but not for ever.
TEST_F(Recording, DoesNotTryNamesForEver) {
  EXPECT_EQ(in_child([&] {
              refuse_call(SYS_openat, EEXIST);
              return directory_.attach();
            }),
            EEXIST);
}

TEST_F(Recording, GoesOnWithoutWhatTheSystemWouldTellIt) {
  if (base::kIsSanitized) GTEST_SKIP();
  for (const long number :
       {SYS_readlinkat, SYS_getrandom, SYS_madvise, SYS_gettid, SYS_prctl, SYS_prlimit64}) {
    EXPECT_EQ(in_child([&] {
                refuse_call(number, ENOSYS);
                GEIGER_OR_FAIL(attach(("GEIGER_DIR=" + directory_.path()).c_str()) == 0);
                allocate(1, kMiB);
                GEIGER_OR_FAIL(image.live.table.size() == 1);
                return 0;
              }),
              0)
        << number;
  }
}

TEST_F(Recording, OfAnotherProcessOfTheRunHasASeedOfItsOwn) {
  EXPECT_EQ(in_child([&] {
              GEIGER_OR_FAIL(directory_.attach("GEIGER_MODE=root=1\n") == 0);
              GEIGER_OR_FAIL(header().seed != 1);
              return 0;
            }),
            0);
}

// ------------------------------------------------------------------ no memory ---

/// Makes all later allocations of memory fail.
void use_up_memory() {
  refuse_call(SYS_mmap, ENOMEM);
  while (arena_allocate(64) != nullptr) {
  }
}

TEST_F(Recording, WithoutMemoryKeepsTrackOfFewerSamples) {
  if (base::kIsSanitized) GTEST_SKIP();
  EXPECT_EQ(in_child([&] {
              GEIGER_OR_FAIL(directory_.attach() == 0);
              allocate(1);
              use_up_memory();
              for (std::uint64_t i = 2; i < 6000; ++i) allocate(i);
              GEIGER_OR_FAIL(drops(DropCause::kLiveTableFull) > 0 && is_recording());
              GEIGER_OR_FAIL(image.live.table.size() + drops(DropCause::kLiveTableFull) == 5999);
              for (std::uint64_t i = 1; i < 6000; ++i) free_again(i);
              GEIGER_OR_FAIL(image.live.table.size() == 0);
              return 0;
            }),
            0);
}

TEST_F(Recording, WithoutMemoryForgetsWhatItCounted) {
  if (base::kIsSanitized) GTEST_SKIP();
  EXPECT_EQ(in_child([&] {
              GEIGER_OR_FAIL(directory_.attach("GEIGER_MODE=aggregate\n") == 0);
              use_up_memory();
              for (std::uint64_t i = 1; i < 3000; ++i) allocate(i, 64 + i);
              GEIGER_OR_FAIL(is_recording());
              for (std::uint64_t i = 1; i < 3000; ++i) free_again(i);
              for (Bytes interval = 100; interval < 3000; ++interval) set_interval(interval);
              GEIGER_OR_FAIL(is_recording());
              return 0;
            }),
            0);
}

TEST_F(Recording, WithoutMemoryLetsNewThreadsRun) {
  if (base::kIsSanitized) GTEST_SKIP();
  EXPECT_EQ(in_child([&] {
              std::atomic<int> step{0};
              std::uint64_t left = 0;
              bool has_reported = true;
              std::thread late([&] {
                while (step.load() == 0) std::this_thread::yield();
                allocate(7);
                left = tls.countdown;
                record_map(test::address_of(1), 4096, 0, 0, unwind::caller_registers());
                const NameId heap = define_name(trace::NameKind::kHeap, 1, "pool", 4);
                has_reported = heap != 0;
                end_thread();
              });
              GEIGER_OR_FAIL(directory_.attach() == 0);
              use_up_memory();
              step = 1;
              late.join();
              GEIGER_OR_FAIL(!has_reported && left > 0 && image.live.table.size() == 0);
              return 0;
            }),
            0);
}

TEST_F(Recording, WithoutMemoryHasNoReports) {
  if (base::kIsSanitized) GTEST_SKIP();
  EXPECT_EQ(in_child([&] {
              GEIGER_OR_FAIL(directory_.attach() == 0);
              Report report;
              report.heap = define_name(trace::NameKind::kHeap, 1, "pool", 4);
              report.address = 4096;
              report.requested = report.usable = 100;
              report.rate = current_rate();
              use_up_memory();
              GEIGER_OR_FAIL(report_sample(report) == Reported::kNotRecording);
              return 0;
            }),
            0);
}

// ---------------------------------------------------------------- a full trace ---

TEST_F(Recording, EndsWhereTheTraceIsFull) {
  EXPECT_EQ(in_child([&] {
              GEIGER_OR_FAIL(directory_.attach("GEIGER_CAPACITY=262144\n") == 0);
              std::uint64_t number = 0;
              while (is_recording()) allocate(++number);
              GEIGER_OR_FAIL(drops(DropCause::kTraceFull) == 1);
              GEIGER_OR_FAIL(!write_mark("late", 4) && !set_interval(128));
              GEIGER_OR_FAIL(current_rate().image == 0);
              free_again(1);
              allocate(number + 1);
              follow_now();
              end_thread();
              detach();
              return 0;
            }),
            0);
}

/// The result of `meet` in a recording with two samples and `room` bytes left.
template <typename Meet>
int with_room(const test::Directory& directory, Bytes room, const std::string& more,
              const Meet& meet) {
  return in_child([&] {
    GEIGER_OR_FAIL(directory.attach("GEIGER_CAPACITY=262144\n" + more) == 0);
    allocate(1);
    allocate(2);
    leave_room(room);
    return meet();
  });
}

TEST_F(Recording, MayBeFullForAnyRecord) {
  const auto expect_full = [&](Bytes room, const std::string& more, const auto& meet) {
    const int line = with_room(directory_, room, more, [&] {
      const int failed = meet();
      GEIGER_OR_FAIL(header().stop_reason.load() == trace::StopReason::kTraceFull);
      return failed;
    });
    EXPECT_EQ(line, 0);
  };
  expect_full(8, "", [] {
    allocate(3);
    GEIGER_OR_FAIL(drops(DropCause::kTraceFull) == 1);
    return 0;
  });
  expect_full(8, "", [] {
    free_again(1);
    GEIGER_OR_FAIL(drops(DropCause::kTraceFull) == 1);
    return 0;
  });
  expect_full(8, "", [] { return set_interval(77) ? 1 : 0; });
  expect_full(8, "", [] { return write_mark("mark", 4) ? 1 : 0; });
  expect_full(8, "", [] {
    record_map(test::address_of(9), 4096, 0, 0, unwind::caller_registers());
    GEIGER_OR_FAIL(drops(DropCause::kTraceFull) == 1);
    return 0;
  });
  expect_full(8, "", [] { return rate_of_interval(12345).image == 0 ? 0 : 1; });
  expect_full(8, "", [] {  // A new thread.
    std::thread([] { allocate(3); }).join();
    return 0;
  });
  expect_full(8, "GEIGER_MODE=aggregate\n", [] {
    allocate(3, 1'000'000'007);
    return 0;
  });
  expect_full(8, "", [] {  // The name of a type.
    tls.naming.type = define_name(trace::NameKind::kType, 0, "Order", 5);
    allocate(3);
    return 0;
  });
}

/// From one place, so that the last one's stack is already recorded. Volatile: compilers must not
/// peel off the last iteration.
[[gnu::noinline]] void allocate_last_with_room(std::uint64_t count, Bytes room) {
  const volatile std::uint64_t last = count;
  for (std::uint64_t i = 1; i <= last; ++i) {
    if (i == last) leave_room(room);
    allocate(i);
  }
}

TEST_F(Recording, MayBeFullForASampleOfAKnownStack) {
  EXPECT_EQ(in_child([&] {
              GEIGER_OR_FAIL(directory_.attach("GEIGER_CAPACITY=262144\n") == 0);
              allocate_last_with_room(3, 8);
              GEIGER_OR_FAIL(drops(DropCause::kTraceFull) == 1 && image.live.table.size() == 2);
              return 0;
            }),
            0);
}

// Exactly a thread's record fits; its name and stacks do not.
TEST_F(Recording, MayBeFullForWhatComesWithASample) {
  for (const Bytes room : {sizeof(trace::ThreadRecord), sizeof(trace::ThreadRecord) + 32,
                           sizeof(trace::ThreadRecord) + 32 + 120}) {
    EXPECT_EQ(with_room(directory_, room, "",
                        [] {
                          std::thread([] { allocate(3); }).join();
                          GEIGER_OR_FAIL(!is_recording());
                          return 0;
                        }),
              0)
        << room;
  }
  EXPECT_EQ(in_child([&] {  // Not even the modules of the first stack.
              GEIGER_OR_FAIL(directory_.attach("GEIGER_CAPACITY=262144\n") == 0);
              leave_room(sizeof(trace::ThreadRecord) + 40);
              allocate(1);
              GEIGER_OR_FAIL(!is_recording() && drops(DropCause::kTraceFull) == 1);
              return 0;
            }),
            0);
}

TEST_F(Recording, MayBeFullWhenItIsThinned) {
  EXPECT_EQ(in_child([&] {
              GEIGER_OR_FAIL(directory_.attach("GEIGER_CAPACITY=262144\nGEIGER_LIVE=1024\n") == 0);
              allocate_last_with_room(1025, sizeof(trace::SampleRecord));
              GEIGER_OR_FAIL(image.live.thinning.load() == 1 && image.live.table.size() < 1000);
              GEIGER_OR_FAIL(!is_recording());
              return 0;
            }),
            0);
}

TEST_F(Recording, OfManySamplesIsThinnedAgainAndAgain) {
  for (const char* mode : {"", "GEIGER_MODE=aggregate\n"}) {
    EXPECT_EQ(in_child([&] {
                GEIGER_OR_FAIL(directory_.attach(std::string("GEIGER_LIVE=1024\n") + mode) == 0);
                for (std::uint64_t i = 1; i <= 9000; ++i) allocate(i, 64 + i % 7);
                GEIGER_OR_FAIL(image.live.thinning.load() > 2 && image.live.table.size() <= 1025);
                for (std::uint64_t i = 1; i <= 9000; ++i) free_again(i);
                GEIGER_OR_FAIL(image.live.table.size() == 0);
                return 0;
              }),
              0);
  }
}

// ------------------------------------------------------------------- segments ---

// A carried sample is larger than the sample, so all of them may not fit again.
TEST_F(Recording, MayHaveNoRoomToCarryAllItsSamples) {
  EXPECT_EQ(
      in_child([&] {
        GEIGER_OR_FAIL(directory_.attach("GEIGER_CAPACITY=262144\nGEIGER_SEGMENT=220000\n") == 0);
        std::uint64_t number = 0;
        while (header().segment == 0 && is_recording()) allocate(++number);
        GEIGER_OR_FAIL(header().segment == 1);
        GEIGER_OR_FAIL(drops(DropCause::kUncarried) > 0);
        return 0;
      }),
      0);
}

TEST_F(Recording, GoesOnInTheLastSegmentWhereTheNextCannotBeOpened) {
  EXPECT_EQ(in_child([&] {
              GEIGER_OR_FAIL(directory_.attach("GEIGER_SEGMENT=65536\n") == 0);
              allocate(1);
              refuse_call(SYS_openat, EMFILE);
              for (std::uint64_t i = 2; i < 3000; ++i) allocate(i);
              GEIGER_OR_FAIL(header().segment == 0 && is_recording());
              GEIGER_OR_FAIL(drops(DropCause::kUncarried) == 0);
              return 0;
            }),
            0);
}

TEST_F(Recording, CarriesOnWhatWasCarriedBefore) {
  EXPECT_EQ(in_child([&] {
              GEIGER_OR_FAIL(directory_.attach("GEIGER_SEGMENT=32768\nGEIGER_KEEP=2\n") == 0);
              tls.naming.label = define_name(trace::NameKind::kLabel, 0, "outer", 5);
              tls.naming.label = define_name(trace::NameKind::kLabel, tls.naming.label, "in", 2);
              tls.naming.type = define_name(trace::NameKind::kType, 0, "Order", 5);
              for (std::uint64_t i = 1; i < 50; ++i) allocate(i);
              for (std::uint64_t i = 50; header().segment < 5; ++i) {
                allocate(i);
                free_again(i);
              }
              GEIGER_OR_FAIL(image.live.table.size() == 49);
              for (std::uint64_t i = 1; i < 50; ++i) free_again(i);
              GEIGER_OR_FAIL(image.live.table.size() == 0 && drops(DropCause::kUncarried) == 0);
              return 0;
            }),
            0);
  EXPECT_EQ(directory_.traces(), 2);
}

}  // namespace
}  // namespace geiger::capture
