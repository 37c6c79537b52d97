// Where in the source a row of a view is.
#pragma once

#include <cstdint>
#include <string>

#include "analysis/profile/recording.h"

namespace geiger::profile {

/// A line of a source file, as debug information names it.
struct SourceLine {
  std::string file;          ///< Empty: not known.
  std::uint32_t line = 0;    ///< 0 = not known.
  std::uint32_t others = 0;  ///< Further lines of the same row, which have less.
};

/// The source line of a frame; not known for kNone.
[[nodiscard]] SourceLine source_line_of(const Recording& recording, std::uint32_t frame);

/// "leaky.cc:11", "leaky.cc:11 +2" with others, "" where nothing is known.
[[nodiscard]] std::string text_of(const SourceLine& where);

}  // namespace geiger::profile
