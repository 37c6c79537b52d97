// The first pages of a file that another process may truncate at any moment, mapped for reading and
// writing. A page that is no longer in the file would raise SIGBUS; here it reads as zeros from
// then on, and what is written there is lost: a process can spoil its own trace, but not end the
// geiger that watches it and others.
#pragma once

#include <optional>
#include <utility>

#include "base/units.h"

namespace geiger::control {

/// Threads: any, one at a time each. Fork: a child shares the pages. Signals: the first one
/// installs a handler of SIGBUS, which leaves all other faults to the default action.
class SharedPages {
 public:
  /// Nothing if the kernel refuses.
  [[nodiscard]] static std::optional<SharedPages> map(int fd, Bytes size);

  SharedPages() = default;
  SharedPages(SharedPages&& other) noexcept : place_(std::exchange(other.place_, nullptr)) {}
  SharedPages& operator=(SharedPages&& other) noexcept {
    std::swap(place_, other.place_);
    return *this;
  }
  SharedPages(const SharedPages&) = delete;
  SharedPages& operator=(const SharedPages&) = delete;
  ~SharedPages();

  /// Null for an empty object.
  [[nodiscard]] char* begin() const;

 private:
  struct Place;
  struct Places;

  Place* place_ = nullptr;
};

}  // namespace geiger::control
