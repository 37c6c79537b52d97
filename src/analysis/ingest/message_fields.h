// Reads a protobuf message field by field.
#pragma once

#include <protozero/pbf_reader.hpp>

namespace geiger::ingest {

/// What to do where a field has this number.
template <typename Take>
struct OnField {
  OnField(protozero::pbf_tag_type its_number, Take its_take) : number(its_number), take(its_take) {}

  protozero::pbf_tag_type number;
  Take take;
};

/// Reads all fields of a message, those of other numbers without effect.
template <typename... Take>
void read_fields(protozero::pbf_reader& reader, const OnField<Take>&... fields) {
  const auto is_taken = [&reader](const auto& field) {
    if (reader.tag() != field.number) return false;
    field.take();
    return true;
  };
  while (reader.next()) {
    if (!(is_taken(fields) || ...)) reader.skip();
  }
}

}  // namespace geiger::ingest
