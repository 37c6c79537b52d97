// The reports may not include the trace format; here the two are held together.
#include "analysis/present/names.h"

#include <gtest/gtest.h>

#include "cli/options/input.h"
#include "trace/format.h"

namespace geiger::cli {
namespace {

std::string entry_point(trace::EntryPoint point) {
  return present::entry_point_name(static_cast<std::uint8_t>(point));
}

std::string drop_cause(trace::DropCause cause) {
  return present::drop_cause_key(static_cast<std::size_t>(cause));
}

std::string_view stop_reason(trace::StopReason reason) {
  return present::stop_reason_key(static_cast<std::uint32_t>(reason));
}

TEST(Names, FollowTheTraceFormat) {
  EXPECT_EQ(entry_point(trace::EntryPoint::kMalloc), "malloc");
  EXPECT_EQ(entry_point(trace::EntryPoint::kPosixMemalign), "posix_memalign");
  EXPECT_EQ(entry_point(trace::EntryPoint::kPvalloc), "pvalloc");
  EXPECT_EQ(entry_point(trace::EntryPoint::kNew), "operator new");
  EXPECT_EQ(entry_point(trace::EntryPoint::kNewArrayAligned), "operator new[] (aligned)");
  EXPECT_EQ(drop_cause(trace::DropCause::kTraceFull), "trace_full");
  EXPECT_EQ(drop_cause(trace::DropCause::kReentered), "reentered");
  EXPECT_EQ(drop_cause(trace::DropCause::kLiveTableFull), "live_table_full");
  EXPECT_EQ(drop_cause(trace::DropCause::kUnseenFree), "unseen_free");
  EXPECT_EQ(stop_reason(trace::StopReason::kNone), "");
  EXPECT_EQ(stop_reason(trace::StopReason::kNoSpace), "no_space");
}

TEST(Level, IsReadInThreeSpellings) {
  EXPECT_DOUBLE_EQ(parse_level("0.95").value(), 0.95);
  EXPECT_DOUBLE_EQ(parse_level("95").value(), 0.95);
  EXPECT_DOUBLE_EQ(parse_level("99.9%").value(), 0.999);
  EXPECT_DOUBLE_EQ(parse_level("1.5%").value(), 0.015);
  for (const char* wrong :
       {"", "%", "0", "100", "1e2", "nan", "-5", "1", "1.5", "49", "95 %", "0x5", "95%%"}) {
    EXPECT_FALSE(parse_level(wrong)) << wrong;
  }
}

}  // namespace
}  // namespace geiger::cli
