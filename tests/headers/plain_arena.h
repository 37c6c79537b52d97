// A bump allocator without sampling, otherwise like geiger::Arena, which is measured against it.
// One limit, the end of the chunk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <new>
#include <stdexcept>
#include <utility>
#include <vector>

class PlainArena {
 public:
  explicit PlainArena(std::size_t chunk_size,
                      std::pmr::memory_resource* upstream = std::pmr::get_default_resource())
      : chunk_size_(chunk_size), upstream_(upstream) {}
  ~PlainArena() { give_back_beyond(0); }
  PlainArena(const PlainArena&) = delete;
  PlainArena& operator=(const PlainArena&) = delete;

  [[gnu::always_inline]] void* allocate(std::size_t size,
                                        std::size_t alignment = alignof(std::max_align_t)) {
    const bool is_sane = alignment != 0 && (alignment & (alignment - 1)) == 0 &&
                         size <= static_cast<std::size_t>(PTRDIFF_MAX);
    if (__builtin_expect(!is_sane, 0)) throw std::invalid_argument("PlainArena");
    const std::uintptr_t begin = (next_ + (alignment - 1)) & ~(alignment - 1);
    const std::uintptr_t end = begin + size;
    if (__builtin_expect(limit_ < end, 0)) return allocate_slow(size, alignment);
    next_ = end;
    return reinterpret_cast<void*>(begin);
  }

  template <class T, class... Arguments>
  T* make(Arguments&&... arguments) {
    return ::new (allocate(sizeof(T), alignof(T))) T(std::forward<Arguments>(arguments)...);
  }

  void reset() {
    give_back_beyond(1);
    if (!chunks_.empty()) start(chunks_[0]);
  }

 private:
  [[gnu::noinline, gnu::cold]] void* allocate_slow(std::size_t size, std::size_t alignment) {
    if (size + alignment > chunk_size_) throw std::bad_alloc();
    chunks_.push_back(upstream_->allocate(chunk_size_));
    start(chunks_.back());
    const std::uintptr_t begin = (next_ + (alignment - 1)) & ~(alignment - 1);
    next_ = begin + size;
    return reinterpret_cast<void*>(begin);
  }

  void give_back_beyond(std::size_t kept) {
    while (chunks_.size() > kept) {
      upstream_->deallocate(chunks_.back(), chunk_size_);
      chunks_.pop_back();
    }
  }

  void start(void* chunk) {
    next_ = reinterpret_cast<std::uintptr_t>(chunk);
    limit_ = next_ + chunk_size_;
  }

  std::uintptr_t next_ = 0;
  std::uintptr_t limit_ = 0;
  std::size_t chunk_size_;
  std::pmr::memory_resource* upstream_;
  std::vector<void*> chunks_;
};
