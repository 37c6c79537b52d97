// Included before a product source: its atomics become those of explorer.h. The standard headers
// come first, as they have to keep theirs.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include "explorer.h"

namespace geiger::model {

/// The memory of an atomic object holds what it begins with, and is never written.
template <class T>
class Location {
 public:
  constexpr explicit Location(const T* object) : object_(object) {}

  [[nodiscard]] T load(std::memory_order order) const {
    return from_word(model::load(object_, initial(), order));
  }
  void store(T value, std::memory_order order) const {
    model::store(object_, initial(), to_word(value), order);
  }
  template <class Change>
  T modify(std::memory_order order, const Change& change) const {
    return from_word(model::modify(object_, initial(), order, [&](std::uint64_t word) {
      return to_word(change(from_word(word)));
    }));
  }
  bool compare_exchange(T& expected, T desired, std::memory_order success,
                        std::memory_order failure) const {
    std::uint64_t word = to_word(expected);
    const bool is_done =
        model::compare_exchange(object_, initial(), word, to_word(desired), success, failure);
    expected = from_word(word);
    return is_done;
  }

 private:
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(std::uint64_t));
  static std::uint64_t to_word(T value) {
    std::uint64_t word = 0;
    std::memcpy(&word, &value, sizeof value);
    return word;
  }
  static T from_word(std::uint64_t word) {
    T value{};
    std::memcpy(&value, &word, sizeof value);
    return value;
  }
  [[nodiscard]] std::uint64_t initial() const { return to_word(*object_); }

  const T* object_;
};

constexpr std::memory_order for_failure(std::memory_order order) {
  if (order == std::memory_order_acq_rel) return std::memory_order_acquire;
  return order == std::memory_order_release ? std::memory_order_relaxed : order;
}

/// The operations, for an object and for a reference to one.
template <class T, class Self>
struct Operations {
  using Order = std::memory_order;
  static constexpr Order kDefault = std::memory_order_seq_cst;

  T load(Order order = kDefault) const { return at().load(order); }
  void store(T value, Order order = kDefault) const { at().store(value, order); }
  T exchange(T value, Order order = kDefault) const {
    return at().modify(order, [value](T) { return value; });
  }
  T fetch_add(T value, Order order = kDefault) const {
    return at().modify(order, [value](T old) { return static_cast<T>(old + value); });
  }
  T fetch_sub(T value, Order order = kDefault) const {
    return at().modify(order, [value](T old) { return static_cast<T>(old - value); });
  }
  bool compare_exchange_strong(T& expected, T desired, Order success, Order failure) const {
    return at().compare_exchange(expected, desired, success, failure);
  }
  bool compare_exchange_strong(T& expected, T desired, Order order = kDefault) const {
    return at().compare_exchange(expected, desired, order, for_failure(order));
  }
  bool compare_exchange_weak(T& expected, T desired, Order success, Order failure) const {
    return at().compare_exchange(expected, desired, success, failure);
  }
  bool compare_exchange_weak(T& expected, T desired, Order order = kDefault) const {
    return at().compare_exchange(expected, desired, order, for_failure(order));
  }

 private:
  Location<T> at() const { return Location<T>(static_cast<const Self&>(*this).object()); }
};

}  // namespace geiger::model

// NOLINTBEGIN(readability-identifier-naming,cert-dcl58-cpp): they stand for the standard's.
namespace std {

template <class T>
class modelled_atomic : public geiger::model::Operations<T, modelled_atomic<T>> {
 public:
  constexpr modelled_atomic() = default;
  constexpr modelled_atomic(T value) : value_(value) {}
  modelled_atomic(const modelled_atomic&) = delete;
  modelled_atomic& operator=(const modelled_atomic&) = delete;
  const T* object() const { return &value_; }

 private:
  T value_{};
};

template <class T>
class modelled_atomic_ref : public geiger::model::Operations<T, modelled_atomic_ref<T>> {
 public:
  explicit modelled_atomic_ref(T& object) : object_(&object) {}
  const T* object() const { return object_; }

 private:
  T* object_;
};

inline void modelled_thread_fence(memory_order order) { geiger::model::fence(order); }
inline void modelled_signal_fence(memory_order) {}

}  // namespace std
// NOLINTEND

#define atomic modelled_atomic
#define atomic_ref modelled_atomic_ref
#define atomic_thread_fence modelled_thread_fence
#define atomic_signal_fence modelled_signal_fence
