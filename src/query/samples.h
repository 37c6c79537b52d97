// Samples as people write them: "16@512KiB:3" is three samples of 16 bytes drawn with an interval
// of 512 KiB, "24+7@100KiB" one of 24 bytes whose byte 7 was drawn.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/outcome.h"
#include "base/units.h"

namespace geiger::query {

/// `count` samples alike.
struct SampleGroup {
  Bytes size = 0;  ///< 1 .. 2^62.
  std::optional<Bytes> offset =
      {};                   ///< Bytes before the drawn one, below `size`; absent if not named.
  Bytes interval = 0;       ///< T >= 1.
  std::uint64_t count = 1;  ///< 0 .. 2^53, exact in a double.
};

/// Groups SIZE[+OFFSET][@INTERVAL][:COUNT], separated by white space; sizes as parse_size reads
/// them. What follows a # is skipped up to the end of its line. `interval` stands for one that is
/// not named. The reason of a failure quotes the group.
base::Outcome<std::vector<SampleGroup>> parse_samples(std::string_view text, Bytes interval);

}  // namespace geiger::query
