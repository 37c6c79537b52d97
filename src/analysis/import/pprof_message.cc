#include "analysis/import/pprof_message.h"

#include <fmt/format.h>

#include <protozero/pbf_reader.hpp>
#include <stdexcept>

#include "analysis/ingest/message_fields.h"
#include "pprof/label_tags.h"
#include "pprof/profile_proto.h"

namespace geiger::imports {
namespace {

using ingest::OnField;
using ingest::read_fields;
using protozero::pbf_reader;

/// What the message says wrongly though it is protobuf.
class Contradiction : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

std::string_view view_of(const protozero::data_view& data) { return {data.data(), data.size()}; }

namespace field = pprof::field;

class Decoder {
 public:
  explicit Decoder(std::string_view bytes) : bytes_(bytes) {}

  PprofMessage decode() {
    read_strings();
    pbf_reader reader(bytes_.data(), bytes_.size());
    while (reader.next()) read_field(reader);
    if (message_.sample_types.empty()) throw Contradiction("it has no sample types");
    return std::move(message_);
  }

 private:
  /// The table comes last in most files, and everything refers to it.
  void read_strings() {
    pbf_reader reader(bytes_.data(), bytes_.size());
    while (reader.next(field::kStringTable)) strings_.push_back(view_of(reader.get_view()));
  }

  [[nodiscard]] std::string_view text(std::int64_t index) const {
    if (index == 0 && strings_.empty()) return {};
    if (index < 0 || static_cast<std::uint64_t>(index) >= strings_.size()) {
      throw Contradiction(fmt::format("text {} is not in its table of {}", index, strings_.size()));
    }
    return strings_[static_cast<std::size_t>(index)];
  }

  void read_field(pbf_reader& reader) {
    switch (reader.tag()) {
      case field::kSampleType:
        return message_.sample_types.push_back(value_type(reader.get_message()));
      case field::kSample:
        return read_sample(reader.get_message());
      case field::kMapping:
        return read_mapping(reader.get_message());
      case field::kLocation:
        return read_location(reader.get_message());
      case field::kFunction:
        return read_function(reader.get_message());
      case field::kTimeNanos:
        message_.time = reader.get_int64();
        return;
      case field::kDurationNanos:
        message_.duration = reader.get_int64();
        return;
      case field::kPeriodType:
        message_.period_type = value_type(reader.get_message());
        return;
      case field::kPeriod:
        message_.period = reader.get_int64();
        return;
      default:
        reader.skip();
    }
  }

  [[nodiscard]] PprofValueType value_type(pbf_reader reader) const {
    PprofValueType type;
    read_fields(reader, OnField(field::kType, [&] { type.type = text(reader.get_int64()); }),
                OnField(field::kUnit, [&] { type.unit = text(reader.get_int64()); }));
    return type;
  }

  /// Numbers packed or one by one: protobuf allows both.
  template <typename Value, typename GetOne, typename GetPacked>
  static void append(std::vector<Value>& values, pbf_reader& reader, const GetOne& get_one,
                     const GetPacked& get_packed) {
    if (reader.wire_type() != protozero::pbf_wire_type::length_delimited) {
      return values.push_back(get_one(reader));
    }
    for (const auto value : get_packed(reader)) values.push_back(value);
  }

  void read_sample(pbf_reader reader) {
    PprofSample sample;
    while (reader.next()) {
      if (reader.tag() == field::kLocationId) {
        append(
            sample.locations, reader, [](pbf_reader& from) { return from.get_uint64(); },
            [](pbf_reader& from) { return from.get_packed_uint64(); });
      } else if (reader.tag() == field::kValue) {
        append(
            sample.values, reader, [](pbf_reader& from) { return from.get_int64(); },
            [](pbf_reader& from) { return from.get_packed_int64(); });
      } else if (reader.tag() == field::kLabel) {
        sample.labels.push_back(label(reader.get_message()));
      } else {
        reader.skip();
      }
    }
    if (sample.values.size() != message_.sample_types.size()) {
      throw Contradiction(fmt::format("sample {} has {} values for {} sample types",
                                      message_.samples.size() + 1, sample.values.size(),
                                      message_.sample_types.size()));
    }
    message_.samples.push_back(std::move(sample));
  }

  [[nodiscard]] PprofLabel label(pbf_reader reader) const {
    PprofLabel label;
    read_fields(reader, OnField(field::kKey, [&] { label.key = text(reader.get_int64()); }),
                OnField(field::kStr, [&] { label.text = text(reader.get_int64()); }),
                OnField(field::kNum, [&] { label.number = reader.get_int64(); }));
    return label;
  }

  void read_mapping(pbf_reader reader) {
    PprofMapping mapping;
    read_fields(reader, OnField(field::kMappingId, [&] { mapping.id = reader.get_uint64(); }),
                OnField(field::kStart, [&] { mapping.start = reader.get_uint64(); }),
                OnField(field::kLimit, [&] { mapping.end = reader.get_uint64(); }),
                OnField(field::kOffset, [&] { mapping.offset = reader.get_uint64(); }),
                OnField(field::kFilename, [&] { mapping.file = text(reader.get_int64()); }),
                OnField(field::kBuildId, [&] { mapping.build_id = text(reader.get_int64()); }));
    message_.mappings.push_back(mapping);
  }

  void read_location(pbf_reader reader) {
    PprofLocation location;
    read_fields(
        reader, OnField(field::kLocId, [&] { location.id = reader.get_uint64(); }),
        OnField(field::kMappingRef, [&] { location.mapping = reader.get_uint64(); }),
        OnField(field::kAddress, [&] { location.address = reader.get_uint64(); }),
        OnField(field::kLine, [&] { location.lines.push_back(line(reader.get_message())); }));
    message_.locations.push_back(std::move(location));
  }

  static PprofLine line(pbf_reader reader) {
    PprofLine line;
    read_fields(reader, OnField(field::kFunctionRef, [&] { line.function = reader.get_uint64(); }),
                OnField(field::kLineNumber, [&] { line.line = reader.get_int64(); }));
    return line;
  }

  void read_function(pbf_reader reader) {
    PprofFunction function;
    read_fields(
        reader, OnField(field::kFunId, [&] { function.id = reader.get_uint64(); }),
        OnField(field::kName, [&] { function.name = text(reader.get_int64()); }),
        OnField(field::kSystemName, [&] { function.system_name = text(reader.get_int64()); }),
        OnField(field::kFile, [&] { function.file = text(reader.get_int64()); }));
    message_.functions.push_back(function);
  }

  std::string_view bytes_;
  std::vector<std::string_view> strings_;
  PprofMessage message_;
};

}  // namespace

bool is_pprof(std::string_view head) {
  std::size_t fields = 0;
  try {
    pbf_reader reader(head.data(), head.size());
    while (reader.next()) {
      const bool is_number = reader.tag() == field::kTimeNanos ||
                             reader.tag() == field::kDurationNanos ||
                             reader.tag() == field::kPeriod;
      const bool is_message =
          reader.tag() <= field::kStringTable || reader.tag() == field::kPeriodType;
      const auto wire = reader.wire_type();
      if (reader.tag() > field::kDocumentation ||
          (is_number && wire != protozero::pbf_wire_type::varint) ||
          (is_message && wire != protozero::pbf_wire_type::length_delimited)) {
        return false;
      }
      reader.skip();
      ++fields;
    }
  } catch (const protozero::end_of_buffer_exception&) {
    return fields >= 2;  // The head ends within a field.
  } catch (const protozero::exception&) {
    return false;
  }
  return fields >= 2;
}

std::vector<std::string> labels_of(const PprofSample& sample) {
  std::vector<pprof::Tag> tags;
  for (const PprofLabel& label : sample.labels) {
    tags.push_back({std::string(label.key), std::string(label.text)});
  }
  return pprof::labels_of_tags(tags);
}

base::Outcome<PprofMessage> decode_pprof(std::string_view bytes) {
  try {
    return Decoder(bytes).decode();
  } catch (const protozero::exception& error) {
    return base::Failure{fmt::format("the protobuf message is damaged ({})", error.what())};
  } catch (const Contradiction& error) {
    return base::Failure{error.what()};
  }
}

}  // namespace geiger::imports
