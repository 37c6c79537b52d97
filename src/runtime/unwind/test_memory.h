// Memory for tests of table readers: a read past its end faults.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdint>
#include <cstring>

#include "runtime/unwind/cfi.h"

namespace geiger::unwind {

inline constexpr std::size_t kPage = 4096;

inline std::uint64_t address_of(const void* pointer) {
  return reinterpret_cast<std::uint64_t>(pointer);
}

/// Memory that ends exactly at the last byte, between two unreadable pages.
class FencedCopy {
 public:
  FencedCopy(const std::uint8_t* bytes, std::size_t size)
      : size_(size), room_((size + kPage - 1) / kPage * kPage) {
    map_ = static_cast<std::uint8_t*>(
        mmap(nullptr, room_ + 2 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    EXPECT_EQ(mprotect(map_ + kPage, room_, PROT_READ | PROT_WRITE), 0);
    std::memcpy(begin(), bytes, size);
  }
  FencedCopy(const FencedCopy&) = delete;
  FencedCopy& operator=(const FencedCopy&) = delete;
  ~FencedCopy() { munmap(map_, room_ + 2 * kPage); }

  [[nodiscard]] std::uint8_t* begin() const { return map_ + kPage + room_ - size_; }
  [[nodiscard]] ByteRange range() const { return {begin(), begin() + size_}; }

 private:
  std::size_t size_;
  std::size_t room_;
  std::uint8_t* map_;
};

}  // namespace geiger::unwind
