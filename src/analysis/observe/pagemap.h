// Which pages of a process are resident or in swap, read from outside through /proc/PID/pagemap.
//
// Only the two bits that every reader may see are used, not the frame numbers. A page
// that was read but never written maps the kernel's page of zeros: it counts as
// resident here, as for mincore, though not in RSS.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/units.h"

namespace geiger::observe {

enum class PageState : std::uint8_t { kUntouched, kResident, kSwapped };

/// The state in an entry of the file (Documentation/admin-guide/mm/pagemap.rst).
[[nodiscard]] PageState page_state(std::uint64_t entry);

/// Bytes of a range by the state of their pages; a page that the range shares counts
/// for the bytes on it that are in the range. The rest of the range is untouched.
struct RangeResidency {
  Bytes resident = 0;
  Bytes swapped = 0;
};

class Pagemap {
 public:
  /// Reads entries from page number `first` on into `entries`; returns how many.
  using Read =
      std::function<std::size_t(std::uint64_t first, std::uint64_t* entries, std::size_t count)>;

  /// Of an open /proc/PID/pagemap.
  [[nodiscard]] static Read reader_of(int fd);

  /// `page_bytes` is a power of 2.
  Pagemap(Read read, Bytes page_bytes);

  /// Entries are read in windows, so ranges in rising order cost least. What cannot be
  /// read is untouched.
  [[nodiscard]] RangeResidency residency(Address start, Bytes bytes);

  /// Drops what was read: pages come and go, and look swapped while the kernel moves them.
  void forget() { window_.clear(); }

  /// Pages whose entries could be read.
  [[nodiscard]] std::uint64_t pages_read() const { return pages_read_; }

 private:
  [[nodiscard]] PageState state_of(std::uint64_t page);

  static constexpr std::size_t kWindow = 512;

  Read read_;
  Bytes page_bytes_;
  std::vector<std::uint64_t> window_;
  std::uint64_t first_ = 0;  ///< Page number of window_[0].
  std::uint64_t pages_read_ = 0;
};

}  // namespace geiger::observe
