#include "analysis/profile/lives/owners.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace geiger::profile::owners_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::uint32_t kLeaf = 100;  // Of site i: kLeaf + i.

std::vector<std::uint32_t> named(const std::vector<std::vector<std::uint32_t>>& functions,
                                 const std::vector<OwnedSite>& sites) {
  const std::vector<OwnerGroup> groups = owner_groups(functions);
  std::vector<std::uint32_t> names;
  const auto anything = [](const OwnerGroup& /*group*/, const OwnedSites& /*accused*/) {
    return true;
  };
  for (const Owner& owner : name_owners(groups, sites, anything)) {
    names.push_back(groups[owner.group].function);
  }
  return names;
}

OwnedSite leak(double bytes = 20) { return {20, 20, bytes, true}; }
OwnedSite healthy() { return {100, 1, 1, false}; }

TEST(OwnerGroups, AreSetsOfSites) {
  // 1 calls 2; 3 is in one stack twice.
  const std::vector<OwnerGroup> groups =
      owner_groups(std::vector<std::vector<std::uint32_t>>{{3, 2, 3, 1}, {4, 3, 2, 1}, {2, 1}});
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(groups[0].function, 3U);
  EXPECT_THAT(groups[0].sites, ElementsAre(0, 1));
  EXPECT_DOUBLE_EQ(groups[0].distance, 0.5);
  EXPECT_EQ(groups[1].function, 2U) << "1 has the same sites, and is further away";
}

TEST(OwnerGroups, AreFewOfManySites) {
  std::vector<std::vector<std::uint32_t>> functions;
  for (std::uint32_t site = 0; site < 100'000; ++site) {
    functions.push_back({1000 + site});
    for (std::uint32_t above = site; above > 0; above /= 2) functions.back().push_back(above % 997);
  }
  EXPECT_EQ(owner_groups(functions).size(), 997U);
}

TEST(Owners, OneFunctionStandsForItsSites) {
  EXPECT_THAT(named({{kLeaf, 1}, {kLeaf + 1, 1}, {kLeaf + 2, 1}}, {leak(), leak(), leak()}),
              ElementsAre(1));
}

TEST(Owners, LinesOfAFunctionStandBesideHealthyCallees) {
  // 2 leaks at two lines, and calls two healthy functions.
  const std::vector<std::vector<std::uint32_t>> functions = {{2, 1}, {2, 1}, {3, 2, 1}, {4, 2, 1}};
  EXPECT_THAT(named(functions, {leak(), leak(), healthy(), healthy()}), ElementsAre(2));
  // A function that allocates for others is not named for two of its callers' lines.
  EXPECT_THAT(
      named({{2, 3, 1}, {2, 3, 1}, {2, 4, 1}, {2, 5, 1}}, {leak(), leak(), healthy(), healthy()}),
      ElementsAre(3));
}

TEST(Owners, ASiteWithNearlyAllIsNotItsCallers) {
  EXPECT_THAT(named({{kLeaf, 1}, {kLeaf + 1, 1}}, {leak(1000), leak()}), IsEmpty());
  EXPECT_THAT(named({{kLeaf, 1}, {kLeaf + 1, 1}}, {leak(30), leak()}), ElementsAre(1));
}

TEST(Owners, ADispatcherIsNotItsCallees) {
  EXPECT_THAT(named({{kLeaf, 1}, {kLeaf + 1, 1}, {kLeaf + 2, 1}}, {leak(), leak(), healthy()}),
              IsEmpty())
      << "two sites are shorter than one function of which one site is healthy";
}

TEST(Owners, TwoFunctionsSaveMoreThanTheirCaller) {
  std::vector<std::vector<std::uint32_t>> functions;
  std::vector<OwnedSite> sites;
  for (std::uint32_t i = 0; i < 10; ++i) {
    functions.push_back({kLeaf + i, i < 6 ? 2U : 3U, 1});
    sites.push_back(leak());
  }
  EXPECT_THAT(named(functions, sites), ElementsAre(1)) << "nothing of it is healthy";
  for (std::uint32_t i = 10; i < 14; ++i) {
    functions.push_back({kLeaf + i, 1});
    sites.push_back(healthy());
  }
  EXPECT_THAT(named(functions, sites), ElementsAre(2, 3));
}

TEST(Owners, WhatRunsThroughEverythingIsTheProgram) {
  std::vector<std::vector<std::uint32_t>> functions;
  std::vector<OwnedSite> sites;
  for (std::uint32_t i = 0; i < 20; ++i) {
    functions.push_back({kLeaf + i, 1});
    sites.push_back(i < 12 ? leak() : OwnedSite{20, 4, 4, false});
  }
  EXPECT_THAT(named(functions, sites), IsEmpty());
  sites.resize(19);
  functions.resize(19);
  EXPECT_THAT(named(functions, sites), ElementsAre(1)) << "seven others do not tell";
}

TEST(GrowingGroups, ClaimTheirSites) {
  const std::vector<OwnerGroup> groups =
      owner_groups(std::vector<std::vector<std::uint32_t>>{{2, 1}, {2, 1}, {3, 1}, {3, 1}, {1}});
  // Sites 0 and 1 grow, together only; what has them too grows by them.
  const auto test = [](std::span<const std::uint32_t> sites) {
    const auto growing = std::ranges::count_if(sites, [](std::uint32_t site) { return site < 2; });
    return std::optional(growing == 2 ? 0.001 * static_cast<double>(sites.size()) : 1.0);
  };
  const auto found = growing_groups(groups, std::vector<bool>(5), test, 0.05);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].function, 2U);
  EXPECT_THAT(found[0].sites, ElementsAre(0, 1));
  EXPECT_THAT(growing_groups(groups, {true, false, false, false, false}, test, 0.05), IsEmpty());
}

}  // namespace
}  // namespace geiger::profile::owners_test
