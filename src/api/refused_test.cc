// Results of calls when the capture refuses, has ended, or is in the middle of an operation.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>
#include <stdexcept>
#include <thread>

#include "api/test_capture.h"
#include "base/test_refusal.h"
#include "geiger/geiger.hpp"

namespace geiger::api {
namespace {

using test::fake;
using test::kInterval;
using trace::Ref;
using trace::TestTrace;

void ignore(void*, const geiger_sample*) {}

/// A trace of one epoch that grows while the test runs.
struct Refused : ::testing::Test {
  Refused() {
    fake = {};
    epoch = trace.epoch(kInterval);
  }
  ~Refused() override { fake = {}; }

  void show() {
    static std::uint32_t last_image = 0;
    fake.show(trace, ++last_image);
  }
  void grow() { fake.grow(trace); }

  [[nodiscard]] static geiger_recorder recorder() {
    geiger_recorder found;
    EXPECT_EQ(geiger_get_status(&found), GEIGER_OK);
    return found;
  }
  static geiger_profile_info info_of(geiger_profile profile) {
    geiger_profile_info info;
    EXPECT_EQ(geiger_get_profile_info(profile, &info), GEIGER_OK);
    return info;
  }

  TestTrace trace{kInterval};
  Ref epoch = 0;
  geiger_token token{};
  geiger_profile profile{};
};

TEST_F(Refused, BeforeTheFirstSampleNothingRecords) {
  std::uint64_t interval = 7;
  geiger_listener listener;
  EXPECT_EQ(recorder().is_recording, 0);
  EXPECT_EQ(recorder().is_interposed, 0);
  EXPECT_EQ(geiger_start_recording(), GEIGER_NOT_RECORDING);
  EXPECT_EQ(geiger_start_profile(GEIGER_ALLOCATIONS, 0, &token), GEIGER_NOT_RECORDING);
  EXPECT_EQ(geiger_take_snapshot(GEIGER_LIVE, &profile), GEIGER_NOT_RECORDING);
  EXPECT_EQ(Profile::snapshot().status(), GEIGER_NOT_RECORDING);
  EXPECT_EQ(geiger_set_sampling_interval(5), GEIGER_NOT_RECORDING);
  EXPECT_EQ(geiger_get_sampling_interval(&interval), GEIGER_NOT_RECORDING);
  EXPECT_EQ(geiger_get_interval_in_force(&interval), GEIGER_NOT_RECORDING);
  EXPECT_EQ(geiger_write_mark("mark"), GEIGER_NOT_RECORDING);
  EXPECT_EQ(geiger_add_listener(ignore, nullptr, nullptr, &listener), GEIGER_NOT_RECORDING);
  EXPECT_EQ(interval, 0);
}

TEST_F(Refused, ExactBytesAreSaidToBeUnknownWhereTheyAre) {
  show();
  std::uint64_t bytes = 7;
  std::uint64_t missing = 7;
  fake.thread_bytes = 100;
  fake.process_bytes = {200, 30};
  EXPECT_EQ(geiger_get_thread_allocated_bytes(&bytes), GEIGER_OK);
  EXPECT_EQ(bytes, 100);
  EXPECT_EQ(geiger_get_process_allocated_bytes(&bytes, &missing), GEIGER_OK);
  EXPECT_EQ(bytes, 200);
  EXPECT_EQ(missing, 30);
  fake.thread_bytes = 0;
  fake.process_bytes = {};
  fake.counted = capture::Counted::kInterrupted;
  EXPECT_EQ(geiger_get_thread_allocated_bytes(&bytes), GEIGER_BUSY);
  fake.counted = capture::Counted::kNotRecording;
  EXPECT_EQ(geiger_get_thread_allocated_bytes(&bytes), GEIGER_NOT_RECORDING);
  EXPECT_EQ(geiger_get_process_allocated_bytes(&bytes, &missing), GEIGER_NOT_RECORDING);
  EXPECT_EQ(bytes + missing, 0);
}

TEST_F(Refused, AMarkThatHasNoRoomIsSaid) {
  show();
  EXPECT_EQ(geiger_write_mark("mark"), GEIGER_OK);
  fake.can_write_marks = false;
  EXPECT_EQ(geiger_write_mark("mark"), GEIGER_NOT_RECORDING);
}

TEST_F(Refused, AnIntervalThatCannotBeSetStartsNoToken) {
  show();
  fake.can_set_interval = false;
  EXPECT_EQ(geiger_start_profile(GEIGER_ALLOCATIONS, 10, &token), GEIGER_NOT_RECORDING);
  EXPECT_EQ(token.id, 0);
  EXPECT_EQ(recorder().open_tokens, 0);
  EXPECT_EQ(recorder().own_interval, kInterval);
  EXPECT_EQ(geiger_set_sampling_interval(10), GEIGER_NOT_RECORDING);
  fake.can_set_interval = true;
  EXPECT_EQ(geiger_set_sampling_interval(kInterval), GEIGER_OK);
  // The refused token has no effect: the next one gets the interval that it requests.
  EXPECT_EQ(geiger_start_profile(GEIGER_ALLOCATIONS, 100, &token), GEIGER_OK);
  EXPECT_EQ(fake.status.interval, 100);
  EXPECT_EQ(geiger_stop_profile(token, nullptr), GEIGER_OK);
  EXPECT_EQ(fake.status.interval, kInterval);
}

TEST_F(Refused, ATokenEndsWhereRecordingHasEnded) {
  show();
  ASSERT_EQ(geiger_start_profile(GEIGER_ALLOCATIONS, 10, &token), GEIGER_OK);
  trace.sample({.epoch = epoch, .requested = 99999, .is_certain = true});
  grow();
  fake.status.is_recording = false;
  fake.status.interval = 10;
  EXPECT_EQ(geiger_stop_profile(token, &profile), GEIGER_OK);
  EXPECT_EQ(info_of(profile).samples, 1) << "what was recorded before can be read";
  EXPECT_EQ(geiger_take_snapshot(GEIGER_LIVE, &profile), GEIGER_NOT_RECORDING)
      << "what was allocated since is unknown";
  EXPECT_EQ(profile.id, 0);
  std::uint64_t interval = 0;
  EXPECT_EQ(geiger_get_sampling_interval(&interval), GEIGER_NOT_RECORDING);
}

TEST_F(Refused, WhatBelongsToAnotherImageIsRefused) {
  show();
  geiger_token other{};
  ASSERT_EQ(geiger_start_profile(GEIGER_ALLOCATIONS, 10, &token), GEIGER_OK);
  ASSERT_EQ(geiger_start_profile(GEIGER_ALLOCATIONS, 0, &other), GEIGER_OK);
  ASSERT_EQ(geiger_stop_profile(other, &profile), GEIGER_OK);
  show();
  fake.status.interval = 10;
  geiger_profile_info info;
  EXPECT_EQ(geiger_stop_profile(token, nullptr), GEIGER_OTHER_PROCESS);
  EXPECT_EQ(geiger_stop_profile(token, nullptr), GEIGER_ALREADY_STOPPED);
  EXPECT_EQ(geiger_get_profile_info(profile, &info), GEIGER_OTHER_PROCESS);
  EXPECT_EQ(fake.status.interval, kInterval) << "what the token asked for is dropped";
  ASSERT_EQ(geiger_start_profile(GEIGER_ALLOCATIONS, 0, &token), GEIGER_OK);
  ASSERT_EQ(geiger_start_profile(GEIGER_ALLOCATIONS, 0, &other), GEIGER_OK);
  ASSERT_EQ(geiger_stop_profile(other, &profile), GEIGER_OK);
  fake.status.header = nullptr;
  EXPECT_EQ(geiger_stop_profile(token, nullptr), GEIGER_OTHER_PROCESS);
  EXPECT_EQ(geiger_get_profile_info(profile, &info), GEIGER_OTHER_PROCESS);
}

TEST_F(Refused, RecordsThatNobodyFinishedAreCounted) {
  show();
  ASSERT_EQ(geiger_start_profile(GEIGER_LIFETIMES, 0, &token), GEIGER_OK);
  const Ref sample = trace.sample({.epoch = epoch, .requested = 5000, .is_certain = true});
  trace.hole(3);
  trace.free(sample, 3000);
  trace.reserved(8);
  trace.free(12345, 3000);  // Of a sample before the token.
  trace.epoch(4 * kInterval);
  trace.hole(2);
  grow();
  ASSERT_EQ(geiger_stop_profile(token, &profile), GEIGER_OK);
  const geiger_profile_info info = info_of(profile);
  EXPECT_EQ(info.samples, 1);
  EXPECT_EQ(info.unfinished, 3);
  EXPECT_EQ(info.interval, 4 * kInterval);
}

TEST_F(Refused, AHandlerUnderTheLockIsTurnedAway) {
  show();
  geiger_status inside = GEIGER_OK;
  geiger_profile_info info;
  geiger_status looked = GEIGER_OK;
  fake.at_status = [&] {
    inside = geiger_free_profile({1});
    looked = geiger_get_profile_info({1}, &info);
  };
  EXPECT_EQ(geiger_start_recording(), GEIGER_OK);
  EXPECT_EQ(inside, GEIGER_BUSY);
  EXPECT_EQ(looked, GEIGER_BUSY);
  EXPECT_EQ(geiger_stop_recording(), GEIGER_OK);
}

TEST_F(Refused, AForkUnderTheLockLeavesTheParentItsLock) {
  show();
  int status = 0;
  fake.at_status = [&] {
    fflush(nullptr);
    const pid_t child = fork();
    if (child == 0) exit(geiger_free_profile({0}) == GEIGER_BAD_HANDLE ? 7 : 1);
    waitpid(child, &status, 0);
    EXPECT_EQ(geiger_free_profile({0}), GEIGER_BUSY);
  };
  EXPECT_EQ(geiger_start_recording(), GEIGER_OK);
  EXPECT_EQ(WEXITSTATUS(status), 7) << "the child's lock is free";
  EXPECT_EQ(geiger_stop_recording(), GEIGER_OK);
  EXPECT_EQ(geiger_free_profile({0}), GEIGER_BAD_HANDLE);
}

TEST_F(Refused, OnlyARecordingInMemoryIsHeld) {
  show();
  EXPECT_EQ(geiger_start_recording(), GEIGER_OK);
  EXPECT_EQ(geiger_stop_recording(), GEIGER_OK);
  EXPECT_EQ(geiger_stop_recording(), GEIGER_ALREADY_STOPPED);
  EXPECT_EQ(fake.held, (std::vector<bool>{false, true}));
  fake.held.clear();
  fake.status.is_in_memory = false;
  EXPECT_EQ(geiger_start_recording(), GEIGER_OK);
  EXPECT_EQ(geiger_stop_recording(), GEIGER_OK);
  EXPECT_TRUE(fake.held.empty()) << "a file is the wish of who started the program";
}

TEST_F(Refused, ARecordingThatEndsWhileItIsAskedIsSaidToHave) {
  show();
  fake.at_status = [] { fake.at_status = [] { fake.status.is_recording = false; }; };
  EXPECT_EQ(geiger_set_sampling_interval(10), GEIGER_NOT_RECORDING);
}

TEST_F(Refused, NoExceptionLeavesACall) {
  const Ref sample = trace.sample({.epoch = epoch, .requested = 5000, .is_certain = true});
  show();
  fake.live = {{0x5000, sample}, {0x6000, static_cast<Ref>(trace.end() / 8)}};
  ASSERT_EQ(geiger_take_snapshot(GEIGER_LIVE, &profile), GEIGER_OK);
  EXPECT_EQ(info_of(profile).samples, 1) << "one came after the question";
  const auto out_of_memory = [](void*, const geiger_sample*) -> int { throw std::bad_alloc(); };
  EXPECT_EQ(geiger_visit_samples(profile, out_of_memory, nullptr), GEIGER_NO_MEMORY);
  fake.at_status = [] { throw std::bad_alloc(); };
  EXPECT_EQ(geiger_start_recording(), GEIGER_NO_MEMORY);
}

TEST_F(Refused, SamplesWithoutStackAndThreadAreVisited) {
  const Ref label = trace.name(trace::NameKind::kLabel, 0, "outer");
  const Ref type = trace.name(trace::NameKind::kType, 0, "Order");
  const Ref known = trace.sample({.epoch = epoch, .thread = 3, .label = label, .type = type});
  const Ref unknown = trace.sample({.epoch = epoch, .thread = 9});
  trace.thread(3, 4711, {});
  show();
  fake.live = {{1, known}, {2, unknown}};
  ASSERT_EQ(geiger_take_snapshot(GEIGER_LIVE, &profile), GEIGER_OK);
  std::vector<std::uint32_t> tids;
  const auto visit = [](void* context, const geiger_sample* sample) {
    static_cast<std::vector<std::uint32_t>*>(context)->push_back(sample->thread);
    EXPECT_EQ(sample->frame_count, 0);
    EXPECT_EQ(sample->alignment, 16);
    return sample->thread == 0 ? 1 : 0;
  };
  ASSERT_EQ(geiger_visit_samples(profile, visit, &tids), GEIGER_OK);
  EXPECT_EQ(tids, (std::vector<std::uint32_t>{4711, 0}));
}

TEST_F(Refused, SamplesOfTheTraceBeforeAreReadWhereTheyWereCarried) {
  trace.header().mode |= trace::kModeContinued;
  trace.thread(3, 4711, {}, trace::kFlagCarriedThread);
  const TestTrace::Drawn drawn{
      .time = 500, .epoch = epoch, .requested = 5000, .thread = 3, .is_certain = true};
  const Ref carried = trace.carried(drawn, 0);
  trace.carried(drawn, 0, trace::kFlagVoid);
  trace.checkpoint(1);
  show();
  fake.live = {{0x5000, carried}};
  for (const geiger_profile_kind kind : {GEIGER_LIVE, GEIGER_FRAGMENTATION, GEIGER_PEAK}) {
    ASSERT_EQ(geiger_take_snapshot(kind, &profile), GEIGER_OK);
    ASSERT_EQ(info_of(profile).samples, 1) << kind;
    const auto visit = [](void*, const geiger_sample* sample) {
      EXPECT_EQ(sample->requested, 5000);
      EXPECT_EQ(sample->time, 500);
      EXPECT_EQ(sample->thread, 4711);
      EXPECT_EQ(sample->is_certain, 1);
      EXPECT_EQ(sample->interval, kInterval);
      return 0;
    };
    EXPECT_EQ(geiger_visit_samples(profile, visit, nullptr), GEIGER_OK);
  }
}

TEST_F(Refused, ATraceThatOnlyCountsHasNoProfiles) {
  trace.header().mode |= trace::kModeAggregated;
  trace.tally({.epoch = epoch, .freed = 1});
  show();
  fake.live = {{0x5000, epoch}};
  EXPECT_EQ(geiger_take_snapshot(GEIGER_LIVE, &profile), GEIGER_NOT_RECORDING);
  EXPECT_EQ(geiger_start_profile(GEIGER_ALLOCATIONS, 100, &token), GEIGER_NOT_RECORDING);
  EXPECT_EQ(recorder().open_tokens, 0);
  EXPECT_EQ(fake.status.interval, kInterval) << "what the token asked for is dropped";
}

TEST_F(Refused, PagesAreAskedForOneByOneWhereTheirMapIsClosed) {
  constexpr Bytes kPage = 4096;
  constexpr Bytes kPages = 8;
  auto* memory = static_cast<char*>(mmap(nullptr, kPages * kPage, PROT_READ | PROT_WRITE,
                                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  ASSERT_NE(memory, MAP_FAILED);
  madvise(memory, kPages * kPage, MADV_NOHUGEPAGE);
  memory[kPage] = memory[4 * kPage] = 1;
  const Ref sample = trace.sample({.epoch = epoch,
                                   .address = reinterpret_cast<Address>(memory) + 100,
                                   .requested = kPages * kPage - 200,
                                   .is_certain = true});
  show();
  fake.live = {{1, sample}};
  const auto expect_two_pages = [&] {
    ASSERT_EQ(geiger_take_snapshot(GEIGER_RESIDENCY, &profile), GEIGER_OK);
    const auto visit = [](void*, const geiger_sample* seen) {
      EXPECT_EQ(seen->value, 2 * kPage);
      return 0;
    };
    EXPECT_EQ(geiger_visit_samples(profile, visit, nullptr), GEIGER_OK);
  };
  expect_two_pages();
  ASSERT_TRUE(base::where_refused({{SYS_openat, EACCES}}, expect_two_pages));
  ASSERT_TRUE(base::where_refused({{SYS_pread64, EIO}}, expect_two_pages));
  munmap(memory, kPages * kPage);
}

TEST_F(Refused, NamesThatHaveNoRoomAreALimit) {
  show();
  geiger_scope scope;
  geiger_heap heap = 9;
  geiger_type type = GEIGER_TYPE("type");
  fake.can_name = false;
  EXPECT_EQ(geiger_define_heap("no room", &heap), GEIGER_LIMIT);
  EXPECT_EQ(heap, 0);
  EXPECT_EQ(geiger_enter_type(&type, &scope), GEIGER_LIMIT);
  EXPECT_EQ(geiger_enter_label_text("label", &scope), GEIGER_LIMIT);
  EXPECT_EQ(geiger_enter_type(nullptr, &scope), GEIGER_BAD_ARGUMENT);
  EXPECT_EQ(geiger_enter_type(&type, nullptr), GEIGER_BAD_ARGUMENT);
  EXPECT_EQ(geiger_leave_type(&scope), GEIGER_NOT_ENTERED);
  EXPECT_EQ(geiger_current_label(nullptr), GEIGER_BAD_ARGUMENT);
  EXPECT_EQ(geiger_resume_label(0, nullptr), GEIGER_BAD_ARGUMENT);
  EXPECT_EQ(geiger_resume_label(5, &scope), GEIGER_BAD_HANDLE);
  EXPECT_EQ(geiger_define_label("x", 0, nullptr), GEIGER_BAD_ARGUMENT);
}

TEST_F(Refused, AScopeThatWasTamperedWithIsNotLeft) {
  show();
  geiger_scope scope;
  std::uint32_t label = 1;
  ASSERT_EQ(geiger_enter_label_text("entered", &scope), GEIGER_OK);
  geiger_scope bent = scope;
  bent.inside += 1;
  EXPECT_EQ(geiger_leave_label(&bent), GEIGER_NOT_ENTERED);
  EXPECT_EQ(geiger_leave_label(&scope), GEIGER_OK);
  EXPECT_EQ(geiger_current_label(&label), GEIGER_OK);
  EXPECT_EQ(label, 0);
}

struct Told {
  int sampled = 0, freed = 0;
};

TEST_F(Refused, WhoListenedBeforeGoesOnListening) {
  // Connected once in the program, which outlives this test.
  static Told before;
  before = {};
  static const capture::Listener first{
      [](void* context, const capture::TraceView&, Ref, const trace::SampleRecord&) {
        ++static_cast<Told*>(context)->sampled;
      },
      [](void* context, const capture::TraceView&, Ref, const trace::FreeRecord&) {
        ++static_cast<Told*>(context)->freed;
      },
      &before};
  if (test::listener.load() == nullptr) test::listener = &first;
  const Ref sample = trace.sample({.epoch = epoch, .requested = 5000, .is_certain = true});
  const Ref free = trace.free(sample, 3000);
  show();
  Told told;
  const auto sampled = [](void* context, const geiger_sample*) {
    ++static_cast<Told*>(context)->sampled;
    throw 7;
  };
  const auto freed = [](void* context, const geiger_sample*) {
    ++static_cast<Told*>(context)->freed;
  };
  geiger_listener throws, counts;
  ASSERT_EQ(geiger_add_listener(sampled, nullptr, &told, &throws), GEIGER_OK);
  ASSERT_EQ(geiger_add_listener(nullptr, freed, &told, &counts), GEIGER_OK);
  const capture::Listener* connected = test::listener.load();
  ASSERT_NE(connected, &first);
  const capture::TraceView view{reinterpret_cast<const char*>(fake.status.header), fake.mapped,
                                fake.status.header, fake.status.image};
  const auto tell = [&] {
    connected->sampled(connected->context, view, sample, view.at<trace::SampleRecord>(sample));
    connected->freed(connected->context, view, sample, view.at<trace::FreeRecord>(free));
  };
  tell();
  tell();
  EXPECT_EQ(told.sampled, 1) << "not called again";
  EXPECT_EQ(told.freed, 2);
  EXPECT_STREQ(recorder().listener_error, "not a std::exception");
  EXPECT_EQ(geiger_remove_listener(throws), GEIGER_OK);
  EXPECT_EQ(geiger_remove_listener(counts), GEIGER_OK);
  tell();
  EXPECT_EQ(before.sampled, 3);
  EXPECT_EQ(before.freed, 3);
}

TEST_F(Refused, ATraceBeyondItsCapacityIsSaidToBeFull) {
  trace.header().capacity = trace.end();
  trace.header().drops[0] = 3;
  trace.header().drops[2] = 4;
  show();
  const_cast<trace::FileHeader*>(fake.status.header)->tail = trace.end() + 4096;
  const geiger_recorder found = recorder();
  EXPECT_EQ(found.trace_bytes, found.trace_capacity);
  EXPECT_EQ(found.dropped, 7);
  EXPECT_STREQ(geiger_get_version(), GEIGER_VERSION);
}

}  // namespace
}  // namespace geiger::api
