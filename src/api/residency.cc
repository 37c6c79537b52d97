#include "api/residency.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>

#include "base/pages.h"

namespace geiger::api {
namespace {

constexpr std::size_t kStretch = 512;
constexpr std::uint64_t kPresent = std::uint64_t{1} << 63;
constexpr std::uint64_t kSwapped = std::uint64_t{1} << 62;

std::uint64_t page_bytes() {
  static const auto bytes = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

}  // namespace

Residency::Residency() : pagemap_(open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC)) {}

Residency::Found Residency::look(Address address, Bytes bytes) {
  Found found;
  base::for_each_page(address, bytes, page_bytes(), [&](std::uint64_t page, Bytes on_it) {
    const State state = state_of(page);
    if (state == State::kResident) found.resident += on_it;
    if (state == State::kSwapped) found.swapped += on_it;
    if (state == State::kUntouched) found.untouched += on_it;
  });
  return found;
}

Residency::State Residency::state_of(std::uint64_t page) {
  if (page < first_ || page - first_ >= states_.size()) load(page);
  return states_[page - first_];
}

void Residency::load(std::uint64_t page) {
  first_ = page;
  states_.assign(kStretch, State::kUnknown);
  if (!pagemap_.is_open() || !load_from_pagemap()) load_by_mincore();
}

bool Residency::load_from_pagemap() {
  std::array<std::uint64_t, kStretch> entries{};
  const ssize_t got = pread(pagemap_.get(), entries.data(), sizeof entries,
                            static_cast<off_t>(first_ * sizeof entries[0]));
  if (got < static_cast<ssize_t>(sizeof entries[0])) return false;
  const auto count = static_cast<std::size_t>(got) / sizeof entries[0];
  for (std::size_t i = 0; i < count; ++i) {
    const bool is_swapped = (entries[i] & kSwapped) != 0;
    states_[i] = (entries[i] & kPresent) != 0 ? State::kResident
                 : is_swapped                 ? State::kSwapped
                                              : State::kUntouched;
  }
  return true;
}

/// Page by page, because mincore fails for a range with a hole.
void Residency::load_by_mincore() {
  for (std::size_t i = 0; i < kStretch; ++i) {
    unsigned char state = 0;
    auto* address = reinterpret_cast<void*>((first_ + i) * page_bytes());
    const bool is_resident = mincore(address, page_bytes(), &state) == 0 && (state & 1) != 0;
    states_[i] = is_resident ? State::kResident : State::kUnknown;
  }
}

}  // namespace geiger::api
