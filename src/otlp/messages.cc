#include "otlp/messages.h"

#include <array>

namespace geiger::otlp {

namespace {

template <typename Number>
constexpr Field one(Number number, std::string_view name, Shape shape) {
  return {static_cast<std::uint32_t>(number), name, shape, false, nullptr};
}
template <typename Number>
constexpr Field one(Number number, std::string_view name, const Message& message) {
  return {static_cast<std::uint32_t>(number), name, Shape::kMessage, false, &message};
}
constexpr Field many(Field field) {
  field.is_repeated = true;
  return field;
}

using enum Shape;

extern const Message kAnyValue;
constexpr std::array kArrayFields{many(one(field::ArrayValue::kValues, "values", kAnyValue))};
constexpr Message kArrayValue{kArrayFields};
constexpr std::array kAnyFields{
    one(field::AnyValue::kString, "stringValue", kText),
    one(field::AnyValue::kBool, "boolValue", kBool),
    one(field::AnyValue::kInt, "intValue", kInteger),
    one(field::AnyValue::kDouble, "doubleValue", kDouble),
    one(field::AnyValue::kArray, "arrayValue", kArrayValue),
};
constexpr Message kAnyValue{kAnyFields};

constexpr std::array kKeyValueFields{one(field::KeyValue::kKey, "key", kText),
                                     one(field::KeyValue::kValue, "value", kAnyValue)};
constexpr Message kKeyValue{kKeyValueFields};
constexpr std::array kResourceFields{
    many(one(field::Resource::kAttributes, "attributes", kKeyValue))};
constexpr Message kResource{kResourceFields};
constexpr std::array kScopeFields{one(field::Scope::kName, "name", kText),
                                  one(field::Scope::kVersion, "version", kText)};
constexpr Message kScope{kScopeFields};

constexpr std::array kValueTypeFields{one(field::ValueType::kType, "typeStrindex", kSmallInteger),
                                      one(field::ValueType::kUnit, "unitStrindex", kSmallInteger)};
constexpr Message kValueType{kValueTypeFields};
constexpr std::array kSampleFields{
    one(field::Sample::kStack, "stackIndex", kSmallInteger),
    many(one(field::Sample::kAttributes, "attributeIndices", kSmallInteger)),
    many(one(field::Sample::kValues, "values", kInteger))};
constexpr Message kSample{kSampleFields};
constexpr std::array kProfileFields{
    one(field::Profile::kSampleType, "sampleType", kValueType),
    many(one(field::Profile::kSamples, "samples", kSample)),
    one(field::Profile::kTime, "timeUnixNano", kFixed),
    one(field::Profile::kDuration, "durationNano", kUnsigned),
    one(field::Profile::kPeriodType, "periodType", kValueType),
    one(field::Profile::kPeriod, "period", kInteger),
    // Readers differ in how JSON has bytes: the Collector wants digits, protobuf's rules base64.
    one(field::Profile::kId, "profileId", kLeftOut),
    many(one(field::Profile::kAttributes, "attributeIndices", kSmallInteger)),
};
constexpr Message kProfile{kProfileFields};
constexpr std::array kScopeProfilesFields{
    one(field::ScopeProfiles::kScope, "scope", kScope),
    many(one(field::ScopeProfiles::kProfiles, "profiles", kProfile))};
constexpr Message kScopeProfiles{kScopeProfilesFields};
constexpr std::array kResourceProfilesFields{
    one(field::ResourceProfiles::kResource, "resource", kResource),
    many(one(field::ResourceProfiles::kScopeProfiles, "scopeProfiles", kScopeProfiles))};
constexpr Message kResourceProfiles{kResourceProfilesFields};

constexpr std::array kMappingFields{
    one(field::Mapping::kStart, "memoryStart", kUnsigned),
    one(field::Mapping::kLimit, "memoryLimit", kUnsigned),
    one(field::Mapping::kFile, "filenameStrindex", kSmallInteger),
    many(one(field::Mapping::kAttributes, "attributeIndices", kSmallInteger))};
constexpr Message kMapping{kMappingFields};
constexpr std::array kLineFields{one(field::Line::kFunction, "functionIndex", kSmallInteger),
                                 one(field::Line::kLine, "line", kInteger)};
constexpr Message kLine{kLineFields};
constexpr std::array kLocationFields{
    one(field::Location::kMapping, "mappingIndex", kSmallInteger),
    one(field::Location::kAddress, "address", kUnsigned),
    many(one(field::Location::kLines, "lines", kLine)),
    many(one(field::Location::kAttributes, "attributeIndices", kSmallInteger))};
constexpr Message kLocation{kLocationFields};
constexpr std::array kFunctionFields{
    one(field::Function::kName, "nameStrindex", kSmallInteger),
    one(field::Function::kSystemName, "systemNameStrindex", kSmallInteger),
    one(field::Function::kFile, "filenameStrindex", kSmallInteger)};
constexpr Message kFunction{kFunctionFields};
constexpr std::array kAttributeFields{one(field::Attribute::kKey, "keyStrindex", kSmallInteger),
                                      one(field::Attribute::kValue, "value", kAnyValue),
                                      one(field::Attribute::kUnit, "unitStrindex", kSmallInteger)};
constexpr Message kAttribute{kAttributeFields};
constexpr std::array kStackFields{
    many(one(field::Stack::kLocations, "locationIndices", kSmallInteger))};
constexpr Message kStack{kStackFields};
constexpr Message kLink{};
constexpr std::array kDictionaryFields{
    many(one(field::Dictionary::kMappings, "mappingTable", kMapping)),
    many(one(field::Dictionary::kLocations, "locationTable", kLocation)),
    many(one(field::Dictionary::kFunctions, "functionTable", kFunction)),
    many(one(field::Dictionary::kLinks, "linkTable", kLink)),
    many(one(field::Dictionary::kTexts, "stringTable", kText)),
    many(one(field::Dictionary::kAttributes, "attributeTable", kAttribute)),
    many(one(field::Dictionary::kStacks, "stackTable", kStack))};
constexpr Message kDictionary{kDictionaryFields};
constexpr std::array kDataFields{
    many(one(field::Data::kResourceProfiles, "resourceProfiles", kResourceProfiles)),
    one(field::Data::kDictionary, "dictionary", kDictionary)};
constexpr Message kData{kDataFields};

}  // namespace

const Message& data_message() { return kData; }

}  // namespace geiger::otlp
