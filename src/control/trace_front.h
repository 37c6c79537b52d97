// The first pages of a trace, shared with the process that writes it.
#pragma once

#include <optional>

#include "base/units.h"
#include "control/shared_pages.h"
#include "trace/format.h"

namespace geiger::control {

/// The size of a regular file that has room for a header and a control page; nothing for others.
[[nodiscard]] std::optional<Bytes> size_of_trace(int fd);

/// The header and the control page in one mapping, as pages may be larger than either. All zeros
/// where the file was cut below trace::kRecordsOffset meanwhile: see size_of_trace().
class TraceFront {
 public:
  /// Maps those of an open file for reading and writing. Nothing if the kernel refuses.
  [[nodiscard]] static std::optional<TraceFront> map(int fd);

  [[nodiscard]] bool is_mapped() const { return pages_.begin() != nullptr; }
  [[nodiscard]] const trace::FileHeader& header() const {
    return *reinterpret_cast<const trace::FileHeader*>(pages_.begin());
  }
  /// The header, of which supervisors may write the tail.
  [[nodiscard]] trace::FileHeader& header() {
    return *reinterpret_cast<trace::FileHeader*>(pages_.begin());
  }
  [[nodiscard]] trace::ControlPage& control() const {
    return *reinterpret_cast<trace::ControlPage*>(pages_.begin() + trace::kControlOffset);
  }

 private:
  SharedPages pages_;
};

}  // namespace geiger::control
