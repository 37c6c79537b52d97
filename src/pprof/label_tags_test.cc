#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pprof/profile_proto.h"

namespace geiger::pprof {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Labels = std::vector<std::string_view>;

std::vector<Tag> tags(const Labels& innermost_first) { return tags_of_labels(innermost_first); }

TEST(LabelTags, OfAPairIsItsKey) {
  EXPECT_THAT(tags({"tenant=acme"}), ElementsAre(Tag{"tenant", "acme"}));
  EXPECT_THAT(tags({"query=a=b"}), ElementsAre(Tag{"query", "a=b"}));
}

TEST(LabelTags, OfAnythingElseIsTheLabel) {
  for (const char* text : {"request", "=odd", "empty=", "=", "thread=7", "label=x", "bytes=64"}) {
    EXPECT_THAT(tags({text}), ElementsAre(Tag{"label", text}));
  }
  EXPECT_THAT(tags({}), IsEmpty());
}

TEST(LabelTags, OfNestedLabelsAreTheKeysAndThePath) {
  EXPECT_THAT(tags({"parse", "tenant=acme", "request"}),
              ElementsAre(Tag{"tenant", "acme"}, Tag{"label", "request / tenant=acme / parse"}));
  EXPECT_THAT(tags({"user=7", "tenant=acme"}), ElementsAre(Tag{"user", "7"}, Tag{"tenant", "acme"},
                                                           Tag{"label", "tenant=acme / user=7"}));
}

TEST(LabelTags, OfOneKeyAreThoseOfTheInnermost) {
  EXPECT_THAT(tags({"tenant=b", "tenant=a"}),
              ElementsAre(Tag{"tenant", "b"}, Tag{"label", "tenant=a / tenant=b"}));
}

TEST(LabelTags, GiveTheLabelsBack) {
  for (const Labels& labels : {Labels{}, Labels{"request"}, Labels{"tenant=acme"},
                               Labels{"parse", "tenant=acme", "request"},
                               Labels{"tenant=b", "tenant=a"}, Labels{"thread=7"}}) {
    std::vector<std::string> back = labels_of_tags(tags(labels));
    EXPECT_EQ(Labels(back.rbegin(), back.rend()), labels);
  }
}

TEST(LabelTags, OfOthersAreLabelsInTheirOrder) {
  const std::vector<Tag> foreign{
      {"handler", "/"}, {"thread", "main"}, {"tenant", "acme"}, {"x", ""}};
  EXPECT_THAT(labels_of_tags(foreign), ElementsAre("handler=/", "tenant=acme"));
  const std::vector<Tag> odd{{"label", " / "}};
  EXPECT_THAT(labels_of_tags(odd), IsEmpty());
}

}  // namespace
}  // namespace geiger::pprof
