#include "analysis/observe/process_memory.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/units.h"

namespace geiger::observe {

PageState page_state(std::uint64_t entry) {
  constexpr std::uint64_t kPresent = std::uint64_t{1} << 63;
  constexpr std::uint64_t kSwapped = std::uint64_t{1} << 62;
  if ((entry & kPresent) != 0) return PageState::kResident;
  return (entry & kSwapped) != 0 ? PageState::kSwapped : PageState::kUntouched;
}

Pagemap::Read Pagemap::reader_of(int fd) {
  return [fd](std::uint64_t first, std::uint64_t* entries, std::size_t count) -> std::size_t {
    const auto offset = static_cast<off_t>(first * sizeof *entries);
    const ssize_t bytes = ::pread(fd, entries, count * sizeof *entries, offset);
    return bytes < 0 ? 0 : static_cast<std::size_t>(bytes) / sizeof *entries;
  };
}

Pagemap::Pagemap(Read read, Bytes page_bytes) : read_(std::move(read)), page_bytes_(page_bytes) {}

PageState Pagemap::state_of(std::uint64_t page) {
  if (page < first_ || page - first_ >= window_.size()) {
    first_ = page / kWindow * kWindow;
    window_.assign(kWindow, 0);
    const std::size_t count = read_(first_, window_.data(), kWindow);
    pages_read_ += count;
    std::fill(window_.begin() + static_cast<std::ptrdiff_t>(std::min(count, kWindow)),
              window_.end(), 0);
  }
  return page_state(window_[page - first_]);
}

RangeResidency Pagemap::residency(Address start, Bytes bytes) {
  RangeResidency found;
  base::for_each_page(start, bytes, page_bytes_, [&](std::uint64_t page, Bytes on_it) {
    const PageState state = state_of(page);
    if (state == PageState::kResident) found.resident += on_it;
    if (state == PageState::kSwapped) found.swapped += on_it;
  });
  return found;
}

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
