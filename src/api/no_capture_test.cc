// The library in a program without capture: every call reports this and does nothing.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "geiger/geiger.hpp"

namespace geiger::api {
namespace {

TEST(NoCapture, IsSaidByEveryCall) {
  std::uint64_t number = 1;
  std::uint64_t missing = 1;
  std::uint32_t id = 1;
  geiger_recorder recorder;
  geiger_scope scope;
  geiger_token token;
  geiger_profile profile;
  geiger_listener listener;
  geiger_heap_totals totals;
  geiger_label label = GEIGER_LABEL("label");
  geiger_type type = GEIGER_TYPE("type");
  const auto write = [](void*, const void*, std::size_t) { return 0; };
  const auto nothing = [](void*, const geiger_sample*) {};
  const geiger_status statuses[] = {
      geiger_get_status(&recorder),
      geiger_start_recording(),
      geiger_stop_recording(),
      geiger_set_sampling_interval(1),
      geiger_get_sampling_interval(&number),
      geiger_get_interval_in_force(&number),
      geiger_write_mark("mark"),
      geiger_record_free_stacks(1),
      geiger_get_thread_allocated_bytes(&number),
      geiger_get_process_allocated_bytes(&number, &missing),
      geiger_enter_label(&label, &scope),
      geiger_enter_label_text("text", &scope),
      geiger_current_label(&id),
      geiger_resume_label(0, &scope),
      geiger_define_label("text", 0, &id),
      geiger_enter_type(&type, &scope),
      geiger_define_heap("heap", &id),
      geiger_report_allocation(1, &number, 8),
      geiger_report_free(1, &number),
      geiger_report_reset(1),
      geiger_get_heap_totals(1, &totals),
      geiger_start_profile(GEIGER_ALLOCATIONS, 0, &token),
      geiger_take_snapshot(GEIGER_LIVE, &profile),
      geiger_write_openmetrics(0.95, write, nullptr),
      geiger_add_listener(nothing, nothing, nullptr, &listener),
  };
  for (std::size_t i = 0; i < std::size(statuses); ++i) {
    EXPECT_EQ(statuses[i], GEIGER_NOT_AVAILABLE) << i;
  }
  EXPECT_EQ(number, 0);
  EXPECT_EQ(geiger_leave_label(&scope), GEIGER_NOT_ENTERED);
}

TEST(NoCapture, LeavesTheProgramAsItIs) {
  const LabelScope scope("label");
  const Heap heap("heap");
  Token token;
  const auto made = make_unique<int>(5);
  std::vector<int, Allocator<int>> numbers(100);
  EXPECT_EQ(*made, 5);
  EXPECT_EQ(token.stop().status(), GEIGER_BAD_HANDLE);
  const Profile snapshot = Profile::snapshot();
  EXPECT_FALSE(snapshot);
  EXPECT_EQ(snapshot.status(), GEIGER_NOT_AVAILABLE);
  EXPECT_EQ(snapshot.pprof(), "");
}

TEST(NoCapture, IsWhatAForksChildFindsToo) {
  EXPECT_EQ(geiger_stop_profile({1}, nullptr), GEIGER_BAD_HANDLE);
  fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) exit(geiger_start_recording() == GEIGER_NOT_AVAILABLE ? 7 : 1);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 7);
}

}  // namespace
}  // namespace geiger::api
