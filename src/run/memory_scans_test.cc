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

profile::Observations content(Bytes resident, const char* fault = "") {
  profile::Observations observations;
  observations.content_fault = fault;
  if (resident > 0) {
    observations.last_content = profile::Content{.resident = resident, .samples = {}};
  }
  observations.content_at_maximum = observations.last_content;
  return observations;
}

TEST(MemoryScans, OfContentsTheLargestAndTheLastStay) {
  profile::Observations kept;
  for (const Bytes resident : {3, 5, 4}) profile::append(kept, content(resident));
  profile::append(kept, content(0, "the process has ended"));
  EXPECT_EQ(kept.content_at_maximum->resident, 5U);
  EXPECT_EQ(kept.last_content->resident, 4U);
  EXPECT_EQ(kept.content_fault, "the process has ended");
}

TEST(MemoryScans, TypesOfObjectsStay) {
  profile::Observations kept;
  kept.types.names = {"dict"};
  kept.types.samples = {{0, 0}};
  profile::append(kept, answer(3));
  profile::append(kept, content(3));
  EXPECT_EQ(kept.types.samples.size(), 1U);
}

}  // namespace
}  // namespace geiger::run
