// From a pc to its row: .eh_frame_hdr, FDE, CIE, call frame program.
#pragma once

#include <cstdint>

#include "runtime/unwind/row.h"

namespace geiger::unwind {

/// The unwind tables of one module.
struct Cfi {
  /// The readable range: the segment that contains the tables.
  ByteRange readable;
  /// Address of .eh_frame_hdr, 0 = none.
  std::uint64_t header;
};

struct FoundRow {
  Row row;
  bool is_signal_frame;  ///< The caller was interrupted; its ip is not a return address.
};

/// False: no entry covers `pc`, or its tables are malformed or use what no known
/// producer emits. Never reads outside of `cfi.readable`; bounded by its size.
[[nodiscard]] bool find_row(const Cfi& cfi, std::uint64_t pc, FoundRow& found);

}  // namespace geiger::unwind
