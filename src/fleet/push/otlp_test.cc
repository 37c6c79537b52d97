// What comes from outside: published contexts, lists of pairs; and the resource made of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <protozero/pbf_builder.hpp>
#include <random>
#include <string>

#include "fleet/push/followed_process.h"
#include "fleet/push/otlp_resource.h"
#include "fleet/push/process_context.h"
#include "otlp/messages.h"
#include "otlp/writer.h"

namespace geiger::fleet {
namespace {

namespace field = otlp::field;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

std::string context(const std::vector<std::pair<std::string, std::string>>& texts) {
  std::string bytes;
  protozero::pbf_builder<field::Context> out(bytes);
  protozero::pbf_builder<field::Resource> resource(out, field::Context::kResource);
  for (const auto& [key, value] : texts) {
    protozero::pbf_builder<field::KeyValue> pair(resource, field::Resource::kAttributes);
    pair.add_string(field::KeyValue::kKey, key);
    protozero::pbf_builder<field::AnyValue> any(pair, field::KeyValue::kValue);
    any.add_string(field::AnyValue::kString, value);
  }
  resource.commit();
  return bytes;
}

TEST(ProcessContext, HasTextsAndIntegers) {
  EXPECT_THAT(resource_in_context(context({{"service.name", "shop"}, {"zone", "b"}, {"", "none"}})),
              ElementsAre(Pair("service.name", "shop"), Pair("zone", "b")));
}

TEST(ProcessContext, MayBeAnyBytes) {
  EXPECT_THAT(resource_in_context(""), IsEmpty());
  const std::string whole = context({{"service.name", std::string(200, 'x')}, {"zone", "\xff"}});
  std::mt19937 random(5);
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes = whole.substr(0, random() % (whole.size() + 1));
    for (unsigned at = 0; at < random() % 4 && !bytes.empty(); ++at) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    for (const auto& [key, value] : resource_in_context(bytes)) {
      EXPECT_FALSE(key.empty());
      EXPECT_EQ(document_text(value), value);
    }
  }
}

TEST(ProcessContext, OfManyAttributesHasTheFirst) {
  std::vector<std::pair<std::string, std::string>> many;
  for (int i = 0; i < 1000; ++i) many.emplace_back("key" + std::to_string(i), "value");
  EXPECT_EQ(resource_in_context(context(many)).size(), kMostLabels / 2);
}

TEST(Environment, IsPairsOfKeysAndValues) {
  EXPECT_THAT(otlp::pairs_of("a=1, b = two%2C%zz ,=no,none,c=d=e,"),
              ElementsAre(Pair("a", "1"), Pair("b", "two,%zz"), Pair("c", "d=e")));
  const std::string variables = std::string("X=1") + '\0' +
                                "OTEL_RESOURCE_ATTRIBUTES=service.name=a,service.version=2,zone=b" +
                                '\0' + "OTEL_SERVICE_NAME=own" + '\0';
  const ProcessNames names = names_in_environment(variables);
  EXPECT_EQ(names.service, "own");
  EXPECT_EQ(names.version, "2");
  EXPECT_EQ(names.resource.at("zone"), "b");
}

TEST(Resource, LabelsWinAndAreBounded) {
  Origin origin{"shop", kUnknownVersion, "web-1", {{"service.instance.id", "own"}}};
  otlp::Attributes attributes = resource_of(origin, {7, "/usr/bin/shop"});
  EXPECT_EQ(std::get<std::string>(attributes.at("service.instance.id")), "own");
  EXPECT_EQ(std::get<std::string>(attributes.at("process.executable.name")), "shop");
  EXPECT_FALSE(attributes.contains("service.version"));
  for (int i = 0; i < 60; ++i) origin.labels["key" + std::to_string(i)] = "value";
  EXPECT_EQ(resource_of(origin, {7, ""}).size(), 20U);
}

}  // namespace
}  // namespace geiger::fleet
