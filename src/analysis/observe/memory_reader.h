// The memory of another process, read while it runs.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "analysis/observe/pagemap.h"
#include "base/units.h"

namespace geiger::observe {

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
