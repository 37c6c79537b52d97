// A mapped trace of this process. A record is at its reference * 8.
#pragma once

#include <cstdint>

#include "base/units.h"
#include "trace/format.h"

namespace geiger::capture {

struct TraceView {
  const char* base;
  Bytes bytes;  ///< Mapped.
  const trace::FileHeader* header;
  std::uint32_t number;  ///< Of the segment; never reused.

  template <typename Layout>
  [[nodiscard]] const Layout& at(trace::Ref ref) const {
    return *reinterpret_cast<const Layout*>(base + Bytes{ref} * 8);
  }
};

}  // namespace geiger::capture
