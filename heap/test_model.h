// A model of the program's heap, separate from the allocator's: live objects, their addresses and
// contents.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <vector>

#include "heap/allocator.h"
#include "sampling/samplers.h"

namespace geiger::heap {

/// Random calls of every form. Each object is filled with its own bytes, which are checked before
/// it is freed; no two objects may overlap.
class Model {
 public:
  Model(std::uint64_t seed, std::size_t most_objects) : random_(seed), most_(most_objects) {}

  void step() {
    const std::uint64_t choice = random_.next() % 16;
    if (objects_.size() >= most_ || (choice < 6 && !objects_.empty())) return free_one();
    if (choice == 6 && !objects_.empty()) return reallocate_one();
    const std::size_t size = random_size();
    if (choice == 7) return add(allocate_zeroed(size), size, 16, true);
    if (choice == 8) {
      const std::size_t alignment = std::size_t{1} << random_.next() % 17;
      return add(allocate_aligned(size, alignment), size, alignment, false);
    }
    add(allocate(size), size, 16, false);
  }

  /// Sometimes all objects at one end of the address space, so that pages become empty.
  void free_half() {
    for (std::size_t i = objects_.size() / 2; i > 0; --i) free_one();
  }
  void free_all() {
    while (!objects_.empty()) free_one();
  }

  [[nodiscard]] std::uint64_t next() { return random_.next(); }
  [[nodiscard]] std::size_t count() const { return objects_.size(); }
  /// Sum of usable sizes of objects up to 64 KiB.
  [[nodiscard]] std::size_t block_bytes() const {
    std::size_t bytes = 0;
    for (const Object& object : objects_) {
      const std::size_t usable = usable_size(object.start);
      if (usable <= kLargestMedium) bytes += usable;
    }
    return bytes;
  }

 private:
  struct Object {
    std::byte* start;
    std::size_t size;
    std::byte fill;
  };

  // Mostly small, of every power of 2 alike; one in 64 up to 16 MiB.
  std::size_t random_size() {
    const std::uint64_t bits = random_.next();
    const unsigned power = bits % 64 == 0 ? 24 : 13;
    return (bits >> 16) % (std::size_t{1} << (bits >> 8) % (power + 1));
  }

  void add(void* memory, std::size_t size, std::size_t alignment, bool is_zero) {
    ASSERT_NE(memory, nullptr);
    const auto address = reinterpret_cast<std::uintptr_t>(memory);
    ASSERT_EQ(address % alignment, 0U);
    ASSERT_EQ(address % 16, 0U);
    ASSERT_GE(usable_size(memory), size);
    const auto start = static_cast<std::byte*>(memory);
    ASSERT_TRUE(!is_zero || is_filled(start, size, std::byte{0}));
    insert({start, size, static_cast<std::byte>(random_.next())});
  }

  void insert(const Object& object) {
    const auto address = reinterpret_cast<std::uintptr_t>(object.start);
    const auto [at, is_new] = ranges_.emplace(address, address + usable_size(object.start));
    ASSERT_TRUE(is_new);
    const auto after = std::next(at);
    ASSERT_TRUE(after == ranges_.end() || at->second <= after->first);
    ASSERT_TRUE(at == ranges_.begin() || std::prev(at)->second <= address);
    memset(object.start, static_cast<int>(object.fill), std::min(object.size, kFilled));
    if (object.size > 2 * kFilled) {
      memset(object.start + object.size - kFilled, static_cast<int>(object.fill), kFilled);
    }
    objects_.push_back(object);
  }

  Object take_one() {
    const std::size_t index = random_.next() % objects_.size();
    std::swap(objects_[index], objects_.back());
    const Object object = objects_.back();
    objects_.pop_back();
    ranges_.erase(reinterpret_cast<std::uintptr_t>(object.start));
    EXPECT_TRUE(is_filled(object.start, std::min(object.size, kFilled), object.fill));
    if (object.size > 2 * kFilled) {
      EXPECT_TRUE(is_filled(object.start + object.size - kFilled, kFilled, object.fill));
    }
    return object;
  }

  void free_one() { release(take_one().start); }

  void reallocate_one() {
    Object object = take_one();
    const std::size_t size = random_size() + 1;
    auto* const moved = static_cast<std::byte*>(reallocate(object.start, size));
    ASSERT_NE(moved, nullptr);
    const std::size_t kept = std::min({object.size, size, kFilled});
    EXPECT_TRUE(is_filled(moved, kept, object.fill));
    insert({moved, size, object.fill});
  }

  static bool is_filled(const std::byte* at, std::size_t bytes, std::byte value) {
    // Each byte is the one before it; tests are not optimized, and loops over bytes take long
    // there.
    return bytes == 0 || (at[0] == value && memcmp(at, at + 1, bytes - 1) == 0);
  }

  static constexpr std::size_t kFilled = 512;  ///< At either end.
  sampling::Xoshiro256pp random_;
  std::size_t most_;
  std::vector<Object> objects_;
  std::map<std::uintptr_t, std::uintptr_t> ranges_;
};

}  // namespace geiger::heap
