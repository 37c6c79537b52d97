// The first pages of a trace, shared with the process that writes it.
#pragma once

#include <optional>
#include <utility>

#include "base/units.h"
#include "trace/format.h"

namespace geiger::control {

/// The size of a regular file that has room for a header and a control page; nothing for others.
[[nodiscard]] std::optional<Bytes> size_of_trace(int fd);

/// The header and the control page in one mapping, as pages may be larger than either. Reading it
/// raises SIGBUS if the file was cut below trace::kRecordsOffset: see size_of_trace().
class TraceFront {
 public:
  /// Maps those of an open file for reading and writing. Nothing if the kernel refuses.
  [[nodiscard]] static std::optional<TraceFront> map(int fd);

  TraceFront() = default;
  TraceFront(TraceFront&& other) noexcept : base_(std::exchange(other.base_, nullptr)) {}
  TraceFront& operator=(TraceFront&& other) noexcept {
    std::swap(base_, other.base_);
    return *this;
  }
  TraceFront(const TraceFront&) = delete;
  TraceFront& operator=(const TraceFront&) = delete;
  ~TraceFront();

  [[nodiscard]] bool is_mapped() const { return base_ != nullptr; }
  [[nodiscard]] const trace::FileHeader& header() const {
    return *reinterpret_cast<const trace::FileHeader*>(base_);
  }
  /// The header, of which supervisors may write the tail.
  [[nodiscard]] trace::FileHeader& header() { return *reinterpret_cast<trace::FileHeader*>(base_); }
  [[nodiscard]] trace::ControlPage& control() const {
    return *reinterpret_cast<trace::ControlPage*>(base_ + trace::kControlOffset);
  }

 private:
  char* base_ = nullptr;
};

}  // namespace geiger::control
