// The memory of another process, read while it runs: which pages are resident, and what is in them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/units.h"

namespace geiger::observe {

// Which pages of a process are resident or in swap, read from outside through /proc/PID/pagemap.
//
// Only the two bits that every reader may see are used, not the frame numbers. A page
// that was read but never written maps the kernel's page of zeros: it counts as
// resident here, as for mincore, though not in RSS.

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

// The memory of another process, read while it runs.

/// Reads [address, address + size) of the process; false where a page of it is not
/// there. Must not bring pages back from swap or touch new ones.
using ReadMemory = std::function<bool(Address address, void* into, std::size_t size)>;

/// Reads some pages at a time: its users ask for a few bytes here and there, and a system call for
/// each would cost more than their work. Reads only what is in memory: a read of another page
/// would bring it there.
class MemoryReader {
 public:
  /// `fd` is /proc/PID/mem, `pages` how many it reads at once.
  MemoryReader(int fd, Pagemap& pagemap, Bytes page_bytes, std::size_t pages)
      : fd_(fd), pagemap_(pagemap), page_bytes_(page_bytes), buffer_(pages * page_bytes) {}

  bool read(Address address, void* into, std::size_t size);
  /// read(), of a reader that outlives the function.
  [[nodiscard]] ReadMemory function() {
    return
        [this](Address address, void* into, std::size_t size) { return read(address, into, size); };
  }

 private:
  [[nodiscard]] bool is_resident(Address page) const {
    return pagemap_.residency(page, page_bytes_).resident == page_bytes_;
  }
  bool fill(Address address);

  int fd_;
  Pagemap& pagemap_;
  Bytes page_bytes_;
  std::vector<char> buffer_;
  Address start_ = 0, end_ = 0;  ///< What the buffer shows.
};

}  // namespace geiger::observe
