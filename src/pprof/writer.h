// Writes a profile.proto piece by piece: samples as they come, then what they refer to. The caller
// numbers mappings, locations and functions from 1 in the order in which it writes them.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/units.h"
#include "pprof/profile_proto.h"

namespace geiger::pprof {

/// A text's number in the string table; 0 is the empty one.
using Text = std::int64_t;

/// A tag of a sample, its texts by number: a text, or a number where `text` is 0.
struct InternedTag {
  Text key = 0;
  Text text = 0;
  std::int64_t number = 0;
  Text unit = 0;
};

struct Sample {
  std::span<const std::uint64_t> locations;  ///< Leaf first.
  std::span<const std::int64_t> values;      ///< One per sample type.
  std::span<const InternedTag> tags;
};

struct Mapping {
  Address start = 0, limit = 0;
  std::uint64_t offset = 0;
  std::string_view file, build_id;
  bool has_functions = false, has_files = false, has_lines = false, has_inlined = false;
};

struct Line {
  std::uint64_t function = 0;
  std::int64_t number = 0;
};

struct Location {
  std::uint64_t id = 0;
  std::uint64_t mapping = 0;    ///< 0 = outside of every one.
  Address address = 0;          ///< In the call, not after it.
  std::span<const Line> lines;  ///< Innermost first.
};

class Writer {
 public:
  /// Takes the next bytes of the profile.
  using Sink = std::function<void(std::string_view)>;

  explicit Writer(Sink sink);

  /// The number of a text, in which bytes that are not UTF-8 become U+FFFD.
  [[nodiscard]] Text intern(std::string_view text);

  void write_sample_types(std::span<const SampleType> types);
  /// Writes which of the sample types readers show first.
  void write_shown_type(std::string_view type);
  void write_comment(std::string_view text);
  /// Writes the time of day at the start, and the duration.
  void write_extent(Nanoseconds start, Nanoseconds duration);
  void write_period(Bytes bytes);

  void write(const Sample& sample);
  void write(const Mapping& mapping);
  void write(const Location& location);
  /// The number of the function, which is written where it is new.
  [[nodiscard]] std::uint64_t function(std::string_view name, std::string_view system_name,
                                       std::string_view file);

  /// The last call: the string table, and what has not gone out.
  void finish();

 private:
  void write_value_type(std::uint32_t tag, const SampleType& type);
  void flush(std::size_t threshold);

  Sink sink_;
  std::string buffer_;
  std::unordered_map<std::string, Text> texts_;
  std::vector<const std::string*> texts_in_order_;  // Keys of a map stay where they are.
  std::map<std::array<Text, 3>, std::uint64_t> functions_;
  std::uint64_t mappings_ = 0;
};

// Writes samples to a pprof profile: a row of alike objects, with tags for their properties.

struct Row {
  Bytes requested = 0;
  Bytes interval = 0;                 ///< That its samples are drawn with, or as if with.
  Text thread = 0, type = 0;          ///< 0 = not known.
  std::span<const InternedTag> tags;  ///< Of the program's own: own_tags().
};

/// How the objects of a row of lifetimes ended.
struct RowEnd {
  std::uint64_t pair = 0;
  std::uint64_t least_age = 0;  ///< Nanoseconds.
  bool is_freed = false;
};

class RowWriter {
 public:
  /// `period`: the interval of rows that do not name theirs.
  RowWriter(Writer& writer, Bytes period);

  /// The tags of the labels in force, innermost first (profile_proto.h).
  [[nodiscard]] std::vector<InternedTag> own_tags(
      std::span<const std::string_view> innermost_first);

  void write(const Row& row, std::span<const std::uint64_t> locations,
             std::span<const std::int64_t> values, const RowEnd* end = nullptr);

 private:
  void add_end(const RowEnd& end);

  Writer& writer_;
  Bytes period_;
  Text bytes_, interval_, thread_, type_;
  std::vector<InternedTag> tags_;  // Of the row that is written.
};

}  // namespace geiger::pprof
