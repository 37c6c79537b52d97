// Names of what a recording stores as numbers, also of numbers that have none.
#include <gtest/gtest.h>

#include <csignal>

#include "analysis/present/recording_words.h"

namespace geiger::present {
namespace {

using vocabulary::DropCause;
using vocabulary::EntryPoint;
using vocabulary::StopReason;

TEST(Names, AreThoseOfTheVocabulary) {
  EXPECT_EQ(entry_point_name(EntryPoint::kNewArrayAligned), "operator new[] (aligned)");
  EXPECT_EQ(entry_point_name(EntryPoint::kReported), "custom heap");
  EXPECT_EQ(drop_cause_key(DropCause::kUncarried), "uncarried");
  EXPECT_EQ(drop_cause_text(DropCause::kTraceFull), "the trace was full");
  EXPECT_EQ(stop_reason_key(StopReason::kNoSpace), "no_space");
  EXPECT_EQ(stop_reason_key(StopReason::kNone), "");
}

TEST(Names, OfUnknownNumbersAreTheNumbers) {
  EXPECT_EQ(entry_point_name(static_cast<EntryPoint>(77)), "entry point 77");
  EXPECT_EQ(drop_cause_key(static_cast<DropCause>(9)), "cause_9");
  EXPECT_EQ(drop_cause_text(static_cast<DropCause>(9)), "cause 9");
  EXPECT_EQ(stop_reason_key(static_cast<StopReason>(9)), "unknown");
}

TEST(Names, OfAnEndingSayWhichSignalKilled) {
  profile::Process process;
  process.ending = profile::Ending::kKilled;
  EXPECT_EQ(ending_text(process), "ended by a signal, _exit or exec") << "it was not waited for";
  process.end_signal = SIGSEGV;
  EXPECT_EQ(ending_text(process), "killed by SIGSEGV");
  process.end_signal = SIGKILL;
  process.was_memory_short = true;
  EXPECT_EQ(ending_text(process), "killed by SIGKILL (out of memory?)");
  process.end_signal = 99;
  process.was_memory_short = false;
  EXPECT_EQ(ending_text(process), "killed by signal 99");
}

TEST(Names, OfAnEndingSayWhyRecordingStopped) {
  profile::Process process;
  process.ending = profile::Ending::kSwitchedOff;
  EXPECT_EQ(ending_text(process), "recording stopped early: ");
  process.stop_reason = StopReason::kMapFailed;
  EXPECT_EQ(ending_text(process),
            "recording stopped early: memory for the trace could not be mapped");
  process.stop_reason = static_cast<StopReason>(9);
  EXPECT_EQ(ending_text(process), "recording stopped early: reason 9");
}

}  // namespace
}  // namespace geiger::present
