// A bug of ours ends the recording, but does not harm or end the program.
#include <gtest/gtest.h>

#include <string>

#include "runtime/capture/tables/arena.h"
#include "runtime/capture/test_recording.h"

namespace geiger::capture {
namespace {

using test::header;

class FailedCheck : public test::Recorded {};

TEST_F(FailedCheck, EndsTheRecordingAndSaysWhere) {
  EXPECT_EQ(
      recorded("",
               [] {
                 GEIGER_OR_FAIL(arena_allocate(kLargestAllocation) != nullptr);
                 GEIGER_OR_FAIL(is_recording());
                 const trace::Writer& writer = current_segment().writer;
                 const auto tail = static_cast<trace::Ref>(writer.tail() / 8);
                 GEIGER_OR_FAIL(arena_allocate(kLargestAllocation + 1) == nullptr);
                 GEIGER_OR_FAIL(!is_recording());
                 GEIGER_OR_FAIL(header().stop_reason.load() == trace::StopReason::kFailedCheck);
                 const auto& mark = writer.at<trace::MarkRecord>(tail);
                 const std::string text(reinterpret_cast<const char*>(&mark + 1), mark.text_bytes);
                 GEIGER_OR_FAIL(text.starts_with("geiger: failed check at arena.cc:"));
                 test::allocate(2);
                 test::free_again(1);
                 return 0;
               }),
      0);
}

}  // namespace
}  // namespace geiger::capture
