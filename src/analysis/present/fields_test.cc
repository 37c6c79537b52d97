#include "analysis/present/fields.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "analysis/present/measure.h"

namespace geiger::present {
namespace {

using Parsed = nlohmann::json;

struct Part {
  std::string name;
  std::optional<double> size;
};
const Fields<Part>& fields_of(Of<Part> /*type*/) {
  static const auto kFields = Fields<Part>("part", "A part.")
                                  .field("name", "what it is", &Part::name)
                                  .field("size", "in bytes", &Part::size)
                                  .or_null();
  return kFields;
}

struct Parts {
  std::vector<Part> parts;
  Part inner;
};
const Fields<Parts>& fields_of(Of<Parts> /*type*/) {
  static const auto kFields =
      Fields<Parts>().field("parts", "", &Parts::parts).inlined(&Parts::inner);
  return kFields;
}

TEST(Fields, LeaveOutWhatIsNotThere) {
  const Parts whole{{{"a", 2.5}, {"b", std::nullopt}}, {"c", 1.0}};
  EXPECT_EQ(document("test", whole),
            "{\"schema_version\":1,\"report\":\"test\",\"parts\":[{\"name\":\"a\",\"size\":2.5},"
            "{\"name\":\"b\"}],\"name\":\"c\",\"size\":1}\n");
}

TEST(Fields, AreTheSchema) {
  const Parsed schema = Parsed::parse(schema_of({document_schema<Parts>("test")}));
  const Parsed& whole = schema["allOf"][0]["then"];
  EXPECT_EQ(whole["required"], Parsed({"parts", "name"}));
  EXPECT_EQ(whole["properties"]["parts"]["items"]["$ref"], "#/$defs/part");
  const Parsed& part = schema["$defs"]["part"];
  EXPECT_EQ(part["required"], Parsed({"name"}));
  EXPECT_EQ(part["properties"]["name"],
            Parsed({{"type", "string"}, {"description", "what it is"}}));
  EXPECT_EQ(part["properties"]["size"]["type"], Parsed({"number", "null"}));
}

TEST(Fields, OfASharePutItsLimitsWhereTheyBelong) {
  JsonWriter out;
  write_value(out, Share{0.5, {0.25, 0.75}});
  EXPECT_EQ(out.take(), "{\"value\":0.5,\"lo\":0.25,\"hi\":0.75}\n");
}

}  // namespace
}  // namespace geiger::present
