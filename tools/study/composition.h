// A set of samples as people write it: "16@512KiB:3" is three samples of 16 bytes drawn
// with an interval of 512 KiB, "24+7@100KiB" one of 24 bytes whose byte 7 was drawn.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/outcome.h"
#include "base/units.h"

namespace geiger::study {

/// `count` samples alike.
struct SampleGroup {
  Bytes size = 0;           ///< 1 .. 2^63 - 1.
  Bytes interval = 0;       ///< T >= 1; 0 for certain ones, where it does not matter.
  std::uint64_t count = 1;  ///< 1 .. 2^53, exact in a double.
  bool is_certain = false;  ///< pi = 1.
  /// Bytes before the drawn one, below `size`; absent if not named, and for certain ones.
  std::optional<Bytes> offset = std::nullopt;
};

/// SIZE[+OFFSET]@INTERVAL[:COUNT]; sizes as parse_size reads them.
base::Outcome<SampleGroup> parse_sample_group(std::string_view text);

/// SIZE[:COUNT], recorded with certainty.
base::Outcome<SampleGroup> parse_certain_group(std::string_view text);

/// One group per line, either `size,interval,count[,certain[,offset]]` or a JSON object
/// with these keys (count 1 and certain false if absent, interval not needed if certain).
/// Empty lines, lines that open with '#' and a heading that opens with "size" are
/// skipped. The reason of a failure names the line.
base::Outcome<std::vector<SampleGroup>> parse_sample_lines(std::string_view text);

}  // namespace geiger::study
