// Writes samples to a pprof profile: a row of alike objects, with tags for their properties.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "pprof/writer.h"

namespace geiger::pprof {

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

  /// The tags of the labels in force, innermost first (label_tags.h).
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
