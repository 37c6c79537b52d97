#include "otlp/writer.h"

#include <charconv>
#include <protozero/pbf_builder.hpp>

#include "base/text.h"
#include "base/utf8_text.h"
#include "otlp/messages.h"

namespace geiger::otlp {

namespace {

using protozero::pbf_builder;

/// "%2C" is a comma.
std::string percent_decoded(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned byte = 0;
    const char* const digits = text.data() + i + 1;
    const bool is_escape = text[i] == '%' && i + 2 < text.size() &&
                           std::from_chars(digits, digits + 2, byte, 16).ptr == digits + 2;
    plain.push_back(is_escape ? static_cast<char>(byte) : text[i]);
    if (is_escape) i += 2;
  }
  return plain;
}

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

void write_string(pbf_builder<field::AnyValue>& out, const std::string& text) {
  out.add_string(field::AnyValue::kString, to_valid_utf8(text));
}

template <typename Parent, typename Number>
void write_value(Parent& parent, Number number, const Value& value) {
  pbf_builder<field::AnyValue> out(parent, number);
  if (const auto* text = std::get_if<std::string>(&value)) return write_string(out, *text);
  if (const auto* whole = std::get_if<std::int64_t>(&value)) {
    return out.add_int64(field::AnyValue::kInt, *whole);
  }
  if (const auto* real = std::get_if<double>(&value)) {
    return out.add_double(field::AnyValue::kDouble, *real);
  }
  pbf_builder<field::ArrayValue> list(out, field::AnyValue::kArray);
  for (const std::string& text : std::get<std::vector<std::string>>(value)) {
    pbf_builder<field::AnyValue> item(list, field::ArrayValue::kValues);
    write_string(item, text);
  }
}

template <typename Builder, typename Number>
void write_indices(Builder& out, Number number, std::span<const Index> indices) {
  out.add_packed_int32(number, indices.begin(), indices.end());
}

/// Zeros, which are the default, are not written: an item's bytes are its identity.
template <typename Builder, typename Number>
void write_index(Builder& out, Number number, Index index) {
  if (index != 0) out.add_int32(number, index);
}

}  // namespace

std::vector<std::pair<std::string, std::string>> pairs_of(std::string_view text) {
  std::vector<std::pair<std::string, std::string>> pairs;
  while (!text.empty()) {
    const std::string_view pair = base::take_part(text, ',');
    const std::size_t equals = pair.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view key = trimmed(pair.substr(0, equals));
    if (!key.empty()) {
      pairs.emplace_back(percent_decoded(key), percent_decoded(trimmed(pair.substr(equals + 1))));
    }
  }
  return pairs;
}

Index Dictionary::Table::place_of(std::string item) {
  if (item.empty()) return 0;
  const auto next = static_cast<Index>(items_.size()) + 1;
  const auto [place, is_new] = places_.try_emplace(std::move(item), next);
  if (is_new) items_.push_back(&place->first);
  return place->second;
}

Index Dictionary::text(std::string_view text) { return texts_.place_of(to_valid_utf8(text)); }

Index Dictionary::attribute(std::string_view key, const Value& value, std::string_view unit) {
  std::string item;
  pbf_builder<field::Attribute> out(item);
  write_index(out, field::Attribute::kKey, text(key));
  write_value(out, field::Attribute::kValue, value);
  write_index(out, field::Attribute::kUnit, text(unit));
  return attributes_.place_of(std::move(item));
}

Index Dictionary::mapping(Address start, Address limit, std::string_view file,
                          std::span<const Index> attributes) {
  std::string item;
  pbf_builder<field::Mapping> out(item);
  if (start != 0) out.add_uint64(field::Mapping::kStart, start);
  if (limit != 0) out.add_uint64(field::Mapping::kLimit, limit);
  write_index(out, field::Mapping::kFile, text(file));
  write_indices(out, field::Mapping::kAttributes, attributes);
  return mappings_.place_of(std::move(item));
}

Index Dictionary::function(std::string_view name, std::string_view system_name,
                           std::string_view file) {
  std::string item;
  pbf_builder<field::Function> out(item);
  write_index(out, field::Function::kName, text(name));
  write_index(out, field::Function::kSystemName, text(system_name));
  write_index(out, field::Function::kFile, text(file));
  return functions_.place_of(std::move(item));
}

Index Dictionary::location(Index mapping, Address address, std::span<const Line> lines,
                           std::span<const Index> attributes) {
  std::string item;
  pbf_builder<field::Location> out(item);
  write_index(out, field::Location::kMapping, mapping);
  if (address != 0) out.add_uint64(field::Location::kAddress, address);
  for (const Line& line : lines) {
    pbf_builder<field::Line> part(out, field::Location::kLines);
    write_index(part, field::Line::kFunction, line.function);
    if (line.number != 0) part.add_int64(field::Line::kLine, line.number);
  }
  write_indices(out, field::Location::kAttributes, attributes);
  return locations_.place_of(std::move(item));
}

Index Dictionary::stack(std::span<const Index> locations) {
  std::string item;
  pbf_builder<field::Stack> out(item);
  write_indices(out, field::Stack::kLocations, locations);
  return stacks_.place_of(std::move(item));
}

std::string Dictionary::encode() const {
  std::string bytes;
  pbf_builder<field::Dictionary> out(bytes);
  const Table links;
  for (const auto& [number, table] : {std::pair(field::Dictionary::kMappings, &mappings_),
                                      {field::Dictionary::kLocations, &locations_},
                                      {field::Dictionary::kFunctions, &functions_},
                                      {field::Dictionary::kLinks, &links},
                                      {field::Dictionary::kTexts, &texts_},
                                      {field::Dictionary::kAttributes, &attributes_},
                                      {field::Dictionary::kStacks, &stacks_}}) {
    out.add_bytes(number, "");
    for (const std::string* item : table->items()) out.add_bytes(number, *item);
  }
  return bytes;
}

namespace {

void write_type(pbf_builder<field::Profile>& out, field::Profile number, Index type, Index unit) {
  pbf_builder<field::ValueType> value(out, number);
  value.add_int32(field::ValueType::kType, type);
  value.add_int32(field::ValueType::kUnit, unit);
}

}  // namespace

Profile::Profile(Dictionary& dictionary, std::string_view type, std::string_view unit,
                 Nanoseconds time, Nanoseconds duration, Bytes period) {
  pbf_builder<field::Profile> out(bytes_);
  write_type(out, field::Profile::kSampleType, dictionary.text(type), dictionary.text(unit));
  out.add_fixed64(field::Profile::kTime, time);
  if (duration != 0) out.add_uint64(field::Profile::kDuration, duration);
  write_type(out, field::Profile::kPeriodType, dictionary.text("space"), dictionary.text("bytes"));
  out.add_int64(field::Profile::kPeriod, static_cast<std::int64_t>(period));
}

void Profile::add(const Sample& sample) {
  pbf_builder<field::Profile> out(bytes_);
  pbf_builder<field::Sample> one(out, field::Profile::kSamples);
  write_index(one, field::Sample::kStack, sample.stack);
  write_indices(one, field::Sample::kAttributes, sample.attributes);
  one.add_packed_int64(field::Sample::kValues, &sample.value, &sample.value + 1);
}

std::string Profile::finish(std::span<const Index> attributes, std::string_view id) {
  pbf_builder<field::Profile> out(bytes_);
  out.add_bytes(field::Profile::kId, id.data(), id.size());
  write_indices(out, field::Profile::kAttributes, attributes);
  return std::move(bytes_);
}

std::string encode(const Attributes& resource, std::span<const std::string> profiles,
                   const Dictionary& dictionary) {
  std::string bytes;
  pbf_builder<field::Data> out(bytes);
  {
    pbf_builder<field::ResourceProfiles> of_resource(out, field::Data::kResourceProfiles);
    {
      pbf_builder<field::Resource> what(of_resource, field::ResourceProfiles::kResource);
      for (const auto& [key, value] : resource) {
        pbf_builder<field::KeyValue> pair(what, field::Resource::kAttributes);
        pair.add_string(field::KeyValue::kKey, to_valid_utf8(key));
        write_value(pair, field::KeyValue::kValue, value);
      }
    }
    pbf_builder<field::ScopeProfiles> of_scope(of_resource,
                                               field::ResourceProfiles::kScopeProfiles);
    {
      pbf_builder<field::Scope> scope(of_scope, field::ScopeProfiles::kScope);
      scope.add_string(field::Scope::kName, "geiger");
      scope.add_string(field::Scope::kVersion, GEIGER_VERSION);
    }
    for (const std::string& profile : profiles) {
      of_scope.add_message(field::ScopeProfiles::kProfiles, profile);
    }
  }
  out.add_message(field::Data::kDictionary, dictionary.encode());
  return bytes;
}

}  // namespace geiger::otlp
