#include "analysis/present/json.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

namespace geiger::present {
namespace {

TEST(Json, WritesNestedValues) {
  JsonWriter json;
  json.begin_object().field("a", 1U).field("b", -2).field("c", true).field("d", 0.5);
  json.key("e").begin_array().string("x").begin_object().end_object().end_array().end_object();
  EXPECT_EQ(json.take(), "{\"a\":1,\"b\":-2,\"c\":true,\"d\":0.5,\"e\":[\"x\",{}]}\n");
}

TEST(Json, EscapesHostileStrings) {
  std::string hostile("\"\\\n\x01</script>\x1b[0m\xff\xfe", 18);
  hostile.push_back('\0');
  JsonWriter json;
  json.begin_array().string(hostile).end_array();
  const auto parsed = nlohmann::json::parse(json.take());
  const auto text = parsed[0].get<std::string>();
  EXPECT_TRUE(text.starts_with("\"\\\n\x01</script>\x1b[0m\xef\xbf\xbd"));
}

TEST(Json, HoldsNothingThatATerminalActsOn) {
  // CSI as one code point, an override, a tag beyond 16 bits.
  const std::string hostile = "\u009b31m\u202eexe\U000e0041";
  JsonWriter json;
  json.begin_array().string(hostile).end_array();
  const std::string text = json.take();
  EXPECT_EQ(text, "[\"\\u009b31m\\u202eexe\\udb40\\udc41\"]\n");
  EXPECT_EQ(nlohmann::json::parse(text)[0].get<std::string>(), hostile);
}

TEST(Json, HasNoNumberThatJsonLacks) {
  JsonWriter json;
  json.begin_array().number(std::numeric_limits<double>::infinity());
  json.number(std::numeric_limits<double>::quiet_NaN()).number(1e300).end_array();
  EXPECT_EQ(json.take(), "[null,null,1e+300]\n");
}

TEST(Json, KeepsEveryBitOfADouble) {
  JsonWriter json;
  json.begin_array().number(0.1 + 0.2).number(5e-324).end_array();
  const auto parsed = nlohmann::json::parse(json.take());
  EXPECT_EQ(parsed[0].get<double>(), 0.1 + 0.2);
  EXPECT_EQ(parsed[1].get<double>(), 5e-324);
}

TEST(Json, WritesAnEstimateWithAllItsParts) {
  estimation::Estimate estimate{3.0, 2.0, {1.0, 6.0}, 4, 0.5};
  JsonWriter json;
  json.estimate(estimate);
  EXPECT_EQ(json.take(),
            "{\"value\":3,\"variance\":2,\"lo\":1,\"hi\":6,\"samples\":4,\"exact\":0.5}\n");
}

}  // namespace
}  // namespace geiger::present
