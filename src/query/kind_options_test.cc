// Every kind with every option that it takes, and the messages that refuse the others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "query/selection.h"

namespace geiger::query {
namespace {

using profile::GroupBy;
using profile::Kind;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

KindQuestion at(std::optional<Kind> kind, const char* when) { return {kind, when}; }
KindQuestion within(std::optional<Kind> kind) { return {kind, "", true}; }
KindQuestion filtered(std::optional<Kind> kind) { return {kind, "", false, true}; }

TEST(KindRules, HaveARowForEveryKind) {
  for (int number = 0; number <= static_cast<int>(Kind::kMappedFiles); ++number) {
    const auto kind = static_cast<Kind>(number);
    EXPECT_EQ(std::ranges::count(profile::kKindRules, kind, &profile::KindRules::kind), 1);
    EXPECT_EQ(profile::kind_named(profile::name_of(kind)), kind);
  }
  EXPECT_FALSE(profile::kind_named("nonsense"));
}

TEST(KindOptions, NameTheKindsOfAVerb) {
  EXPECT_THAT(names_of(Kinds::kOfWholeObjects), ElementsAre("allocated", "live", "peak", "temporary"));
  EXPECT_EQ(names_of(Kinds::kWithMappings).size(), 9U);
  EXPECT_EQ(names_of(Kinds::kAll).size(), profile::kKindRules.size());
}

TEST(KindOptions, TakeAnInstantWhereThereIsOne) {
  EXPECT_TRUE(check_question(at(std::nullopt, "mark:warm")).has_value());
  EXPECT_TRUE(check_question(at(std::nullopt, "peak")).has_value());
  for (const profile::KindRules& rules : profile::kKindRules) {
    SCOPED_TRACE(rules.name);
    const bool takes_any = rules.kind == Kind::kLiveAtEnd || rules.kind == Kind::kMapped ||
                           rules.kind == Kind::kReserved || rules.kind == Kind::kMappedFiles;
    EXPECT_EQ(check_question(at(rules.kind, "2s")).has_value(), takes_any);
    EXPECT_EQ(check_question(at(rules.kind, "last")).has_value(),
              takes_any || profile::is_of_snapshot(rules.kind));
  }
  EXPECT_THAT(check_question(at(Kind::kMapped, "peak")).reason(), HasSubstr("--kind mapped-peak"));
  EXPECT_THAT(check_question(at(Kind::kMappedTotal, "2s")).reason(), HasSubstr("--kind mapped"));
  EXPECT_THAT(check_question(at(Kind::kResident, "2s")).reason(), HasSubstr("maximum or last"));
  EXPECT_THAT(check_question(at(Kind::kAllocated, "2s")).reason(), HasSubstr("--kind live"));
}

TEST(KindOptions, TakeAWindowWhereThereIsOne) {
  EXPECT_TRUE(check_question(within(std::nullopt)).has_value());
  for (const profile::KindRules& rules : profile::kKindRules) {
    const bool is_of_instant = rules.kind == Kind::kLiveAtEnd ||
                               profile::is_of_snapshot(rules.kind) ||
                               profile::is_mapping_snapshot(rules.kind);
    EXPECT_EQ(check_question(within(rules.kind)).has_value(), !is_of_instant) << rules.name;
  }
  EXPECT_THAT(check_question(within(Kind::kReserved)).reason(), HasSubstr("--kind mapped-total"));
  EXPECT_THAT(check_question(within(Kind::kLiveAtEnd)).reason(), HasSubstr("--at WHEN"));
  EXPECT_THAT(check_question({std::nullopt, "2s", true}).reason(), HasSubstr("cannot be combined"));
}

TEST(KindOptions, TakeFiltersAndGroupsOfAllocationsUnlessMapped) {
  for (const profile::KindRules& rules : profile::kKindRules) {
    const bool is_of_mappings = rules.name.starts_with("mapped") || rules.name == "reserved";
    EXPECT_EQ(check_question(filtered(rules.kind)).has_value(), !is_of_mappings) << rules.name;
    EXPECT_EQ(check_grouping(rules.kind, GroupBy::kLabel).has_value(), !is_of_mappings)
        << rules.name;
    EXPECT_TRUE(check_grouping(rules.kind, GroupBy::kFunction).has_value()) << rules.name;
    EXPECT_EQ(check_lives(rules.kind, "firefox").has_value(), rules.kind == Kind::kAllocated);
  }
}

}  // namespace
}  // namespace geiger::query
