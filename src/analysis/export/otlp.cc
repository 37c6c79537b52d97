#include "analysis/export/otlp.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <map>
#include <protozero/pbf_reader.hpp>
#include <span>
#include <unordered_map>
#include <utility>

#include "analysis/present/json.h"
#include "analysis/present/measure.h"
#include "analysis/profile/frames/types.h"
#include "base/units.h"
#include "otlp/messages.h"
#include "pprof/profile_proto.h"

namespace geiger::exports {

namespace {

using profile::Recording;

/// As semantic conventions have them, where there is one.
constexpr std::string_view kThreadAttribute = "thread.name", kTypeAttribute = "geiger.type",
                           kSizeAttribute = "allocation_size", kFrameType = "profile.frame.type",
                           kBuildIdAttribute = "process.executable.build_id.gnu",
                           kFileIdAttribute = "process.executable.build_id.htlhash";

constexpr std::array kOwnAttributes{kThreadAttribute, kTypeAttribute, kSizeAttribute,
                                    std::string_view("geiger.label")};

/// A sample type as a profile: of which column, and of which of the two profiles.
struct OtlpColumn {
  std::size_t column = 0;
  std::string_view unit;
  bool is_live = false, is_variance = false, has_objects = false;
};
/// In their order where what was allocated comes first. Names are pprof's; units of variances are
/// identifiers, as selectors of stores want them.
constexpr std::array<OtlpColumn, 8> kOtlpColumns{{{1, "bytes", false, false, false},
                                                  {0, "count", false, false, true},
                                                  {3, "bytes", true, false, false},
                                                  {2, "count", true, false, true},
                                                  {5, "By2", false, true, false},
                                                  {4, "count2", false, true, true},
                                                  {7, "By2", true, true, false},
                                                  {6, "count2", true, true, true}}};

class OtlpExport {
 public:
  OtlpExport(const Recording& recording, const profile::Profile& allocated,
             const profile::Profile& live, const OtlpOptions& options)
      : recording_(recording),
        options_(options),
        types_(recording),
        allocated_(allocated),
        live_(live),
        table_(profile_table(recording, types_, allocated, live, options.extent)),
        locations_(recording.locations.size()),
        mappings_(recording.modules.size()) {}

  std::string data() {
    std::array<OtlpColumn, kOtlpColumns.size()> columns = kOtlpColumns;
    std::ranges::stable_sort(columns, {}, [&](const OtlpColumn& each) {
      return std::pair(each.is_variance, each.is_live != options_.is_live_first);
    });
    std::vector<std::string> profiles;
    for (const OtlpColumn& column : columns) {
      if (column.is_variance && !options_.has_variances) continue;
      if (std::string profile = profile_of(column); !profile.empty()) {
        profiles.push_back(std::move(profile));
      }
    }
    return profiles.empty() ? "" : otlp::encode(options_.resource, profiles, dictionary_);
  }

 private:
  /// Empty if it has no samples: stores refuse such a one.
  std::string profile_of(const OtlpColumn& column) {
    const std::vector<std::int64_t>& values = table_.columns[column.column];
    if (std::ranges::all_of(values, [](std::int64_t value) { return value == 0; })) return {};
    const std::string_view type = pprof::kSampleTypes[column.column].type;
    // What is live is of an instant.
    const Nanoseconds time = column.is_live ? options_.end : options_.begin;
    const Nanoseconds duration = options_.end - std::min(time, options_.end);
    otlp::Profile profile(dictionary_, type, column.unit, time, duration,
                          std::max(period_of(recording_), Bytes{1}));
    // A sample is what it refers to: rows of several threads of one name are one.
    std::map<std::pair<otlp::Index, std::vector<otlp::Index>>, std::int64_t> samples;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (values[i] == 0) continue;
      const ProfileRow& row = table_.rows[i];
      samples[{stack_of(row), attributes_of(row)}] += values[i];
    }
    for (const auto& [what, value] : samples) profile.add({what.first, what.second, value});
    return profile.finish(facts_of(column), id_of(type));
  }

  std::vector<otlp::Index> facts_of(const OtlpColumn& column) {
    std::vector<otlp::Index> facts;
    if (!options_.comments.empty()) {
      facts.push_back(dictionary_.attribute("pprof.profile.comment", options_.comments));
    }
    if (column.is_variance || !options_.level) return facts;
    const auto measure =
        present::measure_total(recording_, column.is_live ? live_ : allocated_, *options_.level);
    const estimation::Estimate& total = column.has_objects ? measure.objects : measure.bytes;
    facts.push_back(dictionary_.attribute("geiger.total.level", *options_.level));
    facts.push_back(dictionary_.attribute("geiger.total.lo", total.interval.lo));
    facts.push_back(dictionary_.attribute("geiger.total.hi", total.interval.hi));
    facts.push_back(
        dictionary_.attribute("geiger.samples", static_cast<std::int64_t>(measure.samples)));
    return facts;
  }

  /// The same for the same instance, window and type, so that what is sent again can be told.
  [[nodiscard]] std::string id_of(std::string_view type) const {
    std::string what;
    for (const char* key : {"service.instance.id", "service.name", "host.name"}) {
      const auto value = options_.resource.find(key);
      if (value == options_.resource.end()) continue;
      if (const auto* text = std::get_if<std::string>(&value->second)) what += *text;
      what.push_back('\0');
    }
    what += std::to_string(options_.begin) + "-" + std::to_string(options_.end);
    what += type;
    XXH128_canonical_t id;
    XXH128_canonicalFromHash(&id, XXH3_128bits(what.data(), what.size()));
    return {reinterpret_cast<const char*>(id.digest), sizeof id.digest};
  }

  std::vector<otlp::Index> attributes_of(const ProfileRow& row) {
    std::vector<otlp::Index> attributes;
    if (options_.extent.has_stacks_only) return attributes;
    if (row.thread < recording_.threads.size()) {
      const profile::Thread& thread = recording_.threads[row.thread];
      const std::string name =
          thread.name.empty() ? "tid " + std::to_string(thread.tid) : thread.name;
      attributes.push_back(dictionary_.attribute(kThreadAttribute, name));
    }
    if (row.type != profile::Types::kUnknown) {
      attributes.push_back(dictionary_.attribute(kTypeAttribute, std::string(types_[row.type])));
    }
    std::vector<std::string_view> labels;
    for (std::uint32_t at = row.label; at != profile::kNone; at = recording_.labels[at].parent) {
      labels.emplace_back(recording_.labels[at].text);
    }
    for (const pprof::Tag& tag : pprof::tags_of_labels(labels)) {
      if (tag.key == pprof::kLabelLabel) {
        attributes.push_back(dictionary_.attribute("geiger.label", tag.value));
      } else if (std::ranges::find(kOwnAttributes, tag.key) == kOwnAttributes.end()) {
        attributes.push_back(dictionary_.attribute(tag.key, tag.value));
      } else {  // A sample has each key once.
        attributes.push_back(dictionary_.attribute("geiger.label", tag.key + "=" + tag.value));
      }
    }
    if (options_.extent.has_sizes) {
      attributes.push_back(
          dictionary_.attribute(kSizeAttribute, static_cast<std::int64_t>(row.requested), "By"));
    }
    return attributes;
  }

  otlp::Index stack_of(const ProfileRow& row) {
    const auto [known, is_new] = stacks_.try_emplace(row.stack, 0);
    if (!is_new) return known->second;
    std::vector<otlp::Index> locations;
    if (row.stack < recording_.stacks.size()) {
      const profile::Stack& stack = recording_.stacks[row.stack];
      bool is_truncated = stack.is_truncated;
      std::size_t frames = 0;
      for (const std::uint32_t location : stack.locations) {
        frames += std::max<std::size_t>(recording_.locations[location].frames.size(), 1);
        is_truncated |= options_.most_frames != 0 && frames > options_.most_frames;
        if (options_.most_frames != 0 && frames > options_.most_frames) break;
        locations.push_back(location_of(location));
      }
      if (is_truncated) locations.push_back(mark("[truncated]"));
    } else if (row.stack == kOtherStacks) {
      locations.push_back(mark(profile::kUntoldStacks));
    }
    return known->second = dictionary_.stack(locations);
  }

  otlp::Index mark(std::string_view name) {
    const std::array<otlp::Line, 1> line{{{dictionary_.function(name, "", ""), 0}}};
    return dictionary_.location(0, 0, line, {});
  }

  otlp::Index location_of(std::uint32_t index) {
    if (locations_[index] != 0) return locations_[index];
    const profile::Location& location = recording_.locations[index];
    const bool is_source = recording_.is_source(location);
    const bool has_module = location.module < recording_.modules.size() && !is_source;
    std::vector<otlp::Line> lines;
    for (const std::uint32_t number : location.frames) {
      const profile::Frame& frame = recording_.frames[number];
      const std::string& system = frame.system_name.empty() ? frame.function : frame.system_name;
      lines.push_back({dictionary_.function(frame.function, system, frame.file), frame.line});
    }
    std::vector<otlp::Index> attributes;
    if (has_module || is_source) {
      attributes.push_back(
          dictionary_.attribute(kFrameType, std::string(is_source ? "cpython" : "native")));
    }
    const Address bias = has_module ? recording_.modules[location.module].bias : 0;
    // Traces hold return addresses; readers want the calling instruction, as of pprof.
    const Address address = is_source ? 0 : location.vaddr + bias - 1;
    return locations_[index] = dictionary_.location(has_module ? mapping_of(location.module) : 0,
                                                    address, lines, attributes);
  }

  /// None of a module without a build id: OTLP asks for a mapping's identity.
  otlp::Index mapping_of(std::uint32_t index) {
    const profile::Module& module = recording_.modules[index];
    if (mappings_[index] != 0 || module.build_id.empty()) return mappings_[index];
    std::vector<otlp::Index> identity{dictionary_.attribute(kBuildIdAttribute, module.build_id)};
    const auto id = options_.file_ids.find(module.build_id);
    if (id != options_.file_ids.end() && !id->second.empty()) {
      identity.push_back(dictionary_.attribute(kFileIdAttribute, id->second));
    }
    return mappings_[index] = dictionary_.mapping(module.start, module.end, module.path, identity);
  }

  const Recording& recording_;
  const OtlpOptions& options_;
  const profile::Types types_;
  const profile::Profile& allocated_;
  const profile::Profile& live_;
  const ProfileTable table_;
  otlp::Dictionary dictionary_;
  std::unordered_map<std::uint32_t, otlp::Index> stacks_;
  std::vector<otlp::Index> locations_, mappings_;
};

}  // namespace

std::string otlp_data(const Recording& recording, const profile::Profile& allocated,
                      const profile::Profile& live, const OtlpOptions& options) {
  return OtlpExport(recording, allocated, live, options).data();
}

namespace {

/// Writes messages as JSON by their description.
class OtlpJson {
 public:
  explicit OtlpJson(const Sink& sink) : sink_(sink) {}

  void write(std::string_view bytes, const otlp::Message& message) {
    json_.begin_object();
    for (const otlp::Field& field : message.fields) {
      if (field.shape == otlp::Shape::kLeftOut) continue;
      bool is_begun = false;
      for (protozero::pbf_reader reader(bytes.data(), bytes.size()); reader.next(field.number);) {
        if (!is_begun) json_.key(field.name);
        if (!is_begun && field.is_repeated) json_.begin_array();
        is_begun = true;
        write_value(reader, field);
        pass_on(json_, sink_);
      }
      if (is_begun && field.is_repeated) json_.end_array();
    }
    json_.end_object();
  }

  void finish() { sink_(json_.take()); }

 private:
  static std::string_view view_of(const protozero::data_view& bytes) {
    return {bytes.data(), bytes.size()};
  }

  void write_value(protozero::pbf_reader& reader, const otlp::Field& field) {
    using otlp::Shape;
    const bool is_packed = field.is_repeated &&
                           (field.shape == Shape::kSmallInteger || field.shape == Shape::kInteger);
    if (is_packed) {
      for (const std::int64_t each : reader.get_packed_int64()) write_integer(each, field);
      return;
    }
    switch (field.shape) {
      case Shape::kMessage:
        return write(view_of(reader.get_view()), *field.message);
      case Shape::kText:
        return static_cast<void>(json_.string(reader.get_string()));
      case Shape::kDouble:
        return static_cast<void>(json_.number(reader.get_double()));
      case Shape::kBool:
        return static_cast<void>(json_.boolean(reader.get_bool()));
      case Shape::kFixed:
        return static_cast<void>(json_.string(std::to_string(reader.get_fixed64())));
      case Shape::kUnsigned:
        return static_cast<void>(json_.string(std::to_string(reader.get_uint64())));
      default:
        return write_integer(reader.get_int64(), field);
    }
  }

  /// Those of 64 bits are texts: numbers of JSON have 53.
  void write_integer(std::int64_t value, const otlp::Field& field) {
    if (field.shape == otlp::Shape::kSmallInteger) {
      json_.signed_integer(value);
    } else {
      json_.string(std::to_string(value));
    }
  }

  const Sink& sink_;
  present::JsonWriter json_;
};

}  // namespace

void write_otlp_json(std::string_view data, const Sink& sink) {
  OtlpJson json(sink);
  json.write(data, otlp::data_message());
  json.finish();
}

}  // namespace geiger::exports
