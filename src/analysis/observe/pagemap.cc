#include "analysis/observe/pagemap.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/pages.h"

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

}  // namespace geiger::observe
