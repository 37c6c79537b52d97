// The rows of a heap text: numbers that a reader scales up by a formula of its own.
//
// A reader takes a row of n objects and b bytes for n samples, each drawn with probability 1 -
// e^(-b/(nR)), R being the interval of the header. Samples that were drawn that way stand in their
// row as they are. Others (certain ones, thinned ones, those of another interval) are written as
// numbers whose scaled bytes are the estimate; readers do not scale a row of bytes without objects.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/profile/profile.h"
#include "analysis/profile/recording.h"

namespace geiger::exports {

/// Before a reader scales them up.
struct RowObjects {
  std::uint64_t count = 0;
  Bytes bytes = 0;
};

struct HeapTextRow {
  std::uint32_t stack = profile::kNone;
  RowObjects live, allocated;
};

struct HeapTextTable {
  std::vector<HeapTextRow> rows;  ///< In order of stacks.
  /// R; 0: everything was recorded, and no reader is to scale anything.
  Bytes interval = 0;
};

/// Bytes of each stack are its estimate once a reader has scaled them up, to half a byte per row
/// and, as readers take e^(-b/(nR)) for (1 - 1/R)^(b/n), to one part in 2R; so are objects, but for
/// stacks of less than a sample's worth: these are right together, to about one object. Where what
/// is live was drawn with another interval than what was allocated (at the peak, when thinned),
/// there is one R only: `allocated` repeats `live` then, as in heap texts that contain nothing
/// else.
[[nodiscard]] HeapTextTable heap_text_table(const profile::Recording& recording,
                                            const profile::Profile& allocated,
                                            const profile::Profile& live);

}  // namespace geiger::exports
