#include "run/memory_scans.h"

#include <gtest/gtest.h>

#include <utility>

namespace geiger::run {
namespace {

profile::Observations answer(std::uint32_t scans, const char* fault = "") {
  profile::Observations observations;
  if (scans > 0) observations.holders.emplace().scans = scans;
  observations.holders_fault = fault;
  return observations;
}

std::uint32_t scans_kept(profile::Observations first, profile::Observations later) {
  keep_whole(first, std::move(later));
  return first.holders ? first.holders->scans : 0;
}

TEST(MemoryScans, TheLastWholeAnswerStays) {
  EXPECT_EQ(scans_kept({}, answer(3)), 3U);
  EXPECT_EQ(scans_kept(answer(3), answer(4)), 4U);
  EXPECT_EQ(scans_kept(answer(3), answer(0, "the process has ended")), 3U);
  EXPECT_EQ(scans_kept(answer(3), answer(1, "the process ended while it was scanned")), 3U);
  EXPECT_EQ(scans_kept(answer(1, "it ended"), answer(2, "it ended")), 2U);
  EXPECT_EQ(scans_kept(answer(1, "it ended"), answer(3)), 3U);
}

}  // namespace
}  // namespace geiger::run
