// Arenas for containers: as a memory resource, and as an allocator that names its type.
//
// Neither frees single objects: memory is freed when the arena is reset, and until then every
// sampled object counts as live, even if the container has deallocated it.
#pragma once

#include <cstddef>
#include <limits>
#include <memory_resource>
#include <new>

#include "geiger/arena.h"

namespace geiger {

/// A memory resource for std::pmr containers. Equal to other resources of the same arena. Samples
/// have no type, because containers request only bytes from a resource. Threads, signals, fork: as
/// Arena.
class ArenaResource final : public std::pmr::memory_resource {
 public:
  /// `arena` must outlive the resource.
  explicit ArenaResource(Arena& arena) : arena_(&arena) {}

  [[nodiscard]] Arena& arena() const { return *arena_; }

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    return arena_->allocate(bytes, alignment);
  }
  void do_deallocate(void*, std::size_t, std::size_t) override {}
  [[nodiscard]] bool do_is_equal(const memory_resource& other) const noexcept override {
    const auto* same = dynamic_cast<const ArenaResource*>(&other);
    return same != nullptr && same->arena_ == arena_;
  }

  Arena* arena_;
};

/// An allocator whose samples have the type T, or the node type if a container rebinds it.
/// Threads, signals, fork: as Arena.
template <class T>
class ArenaAllocator {
 public:
  using value_type = T;

  /// `arena` must outlive the allocator and its copies.
  explicit ArenaAllocator(Arena& arena) noexcept : arena_(&arena) {}
  /// Containers rebind it to what they allocate.
  template <class Other>  // NOLINTNEXTLINE(google-explicit-constructor)
  ArenaAllocator(const ArenaAllocator<Other>& other) noexcept : arena_(&other.arena()) {}

  /// Throws std::bad_array_new_length if the size of `count` objects overflows.
  [[nodiscard]] T* allocate(std::size_t count) {
    if (count > std::numeric_limits<std::size_t>::max() / sizeof(T)) {
      arena::fail<std::bad_array_new_length>();
    }
    return static_cast<T*>(arena_->allocate(count * sizeof(T), alignof(T), type_name<T>()));
  }
  void deallocate(T*, std::size_t) noexcept {}

  [[nodiscard]] Arena& arena() const noexcept { return *arena_; }

  template <class Other>
  bool operator==(const ArenaAllocator<Other>& other) const noexcept {
    return arena_ == &other.arena();
  }
  template <class Other>
  bool operator!=(const ArenaAllocator<Other>& other) const noexcept {
    return !(*this == other);
  }

 private:
  Arena* arena_;
};

}  // namespace geiger
