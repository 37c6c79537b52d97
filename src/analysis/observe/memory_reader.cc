#include "analysis/observe/memory_reader.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace geiger::observe {

bool MemoryReader::read(Address address, void* into, std::size_t size) {
  for (auto* to = static_cast<char*>(into); size > 0;) {
    const bool is_here = start_ <= address && address < end_;
    if (!is_here && !fill(address)) return false;
    const std::size_t bytes = std::min(size, static_cast<std::size_t>(end_ - address));
    std::memcpy(to, buffer_.data() + (address - start_), bytes);
    to += bytes;
    address += bytes;
    size -= bytes;
  }
  return true;
}

/// The page of `address` and those that follow it in memory. Less than a page counts as no page:
/// the process unmaps it, or ends.
bool MemoryReader::fill(Address address) {
  const Address start = address / page_bytes_ * page_bytes_;
  start_ = end_ = 0;
  Bytes bytes = 0;
  while (bytes < buffer_.size() && is_resident(start + bytes)) bytes += page_bytes_;
  const ssize_t read = ::pread(fd_, buffer_.data(), bytes, static_cast<off_t>(start));
  if (read < static_cast<ssize_t>(page_bytes_)) return false;
  start_ = start;
  end_ = start + static_cast<Bytes>(read) / page_bytes_ * page_bytes_;
  return true;
}

}  // namespace geiger::observe
