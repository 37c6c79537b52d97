// pprof's profile.proto, decoded as far as heap profiles need it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/outcome.h"
#include "base/units.h"

namespace geiger::imports {

/// Texts are views into the message.
struct PprofValueType {
  std::string_view type, unit;
};
struct PprofLabel {
  std::string_view key;
  std::string_view text;    ///< Of labels that are texts.
  std::int64_t number = 0;  ///< Of others.
};
struct PprofSample {
  std::vector<std::uint64_t> locations;  ///< Ids, leaf first.
  std::vector<std::int64_t> values;
  std::vector<PprofLabel> labels;
};
struct PprofLine {
  std::uint64_t function = 0;  ///< Id.
  std::int64_t line = 0;
};
struct PprofLocation {
  std::uint64_t id = 0, mapping = 0;
  Address address = 0;
  std::vector<PprofLine> lines;  ///< Innermost first.
};
struct PprofFunction {
  std::uint64_t id = 0;
  std::string_view name, system_name, file;
};
struct PprofMapping {
  std::uint64_t id = 0;
  Address start = 0, end = 0;
  std::uint64_t offset = 0;
  std::string_view file, build_id;
};

struct PprofMessage {
  std::vector<PprofValueType> sample_types;
  std::vector<PprofSample> samples;
  std::vector<PprofMapping> mappings;
  std::vector<PprofLocation> locations;
  std::vector<PprofFunction> functions;
  PprofValueType period_type;
  std::int64_t period = 0;
  std::int64_t time = 0, duration = 0;  ///< Nanoseconds; 0 = unknown.
};

/// The labels that the program set, outermost first (pprof/label_tags.h).
[[nodiscard]] std::vector<std::string> labels_of(const PprofSample& sample);

/// Whether bytes may be the beginning of such a message: fields that it has, of their types.
[[nodiscard]] bool is_pprof(std::string_view head);

/// The message in `bytes`, which it points into. Fails on bad protobuf, a text that is not in its
/// table, samples whose values do not match the types.
base::Outcome<PprofMessage> decode_pprof(std::string_view bytes);

}  // namespace geiger::imports
