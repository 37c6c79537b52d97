// The operators new and delete of libgeiger.so, for it alone: its memory is not the program's, so
// it is neither counted nor sampled. Callbacks and listeners are outside of them, so what these
// allocate is the program's.
//
// The memory comes from the program's malloc and goes back to its free, with or without us, so no
// caller needs to know which of the two operators it got. Before the call the countdown gets the
// bytes that malloc will subtract: then they always fit.
//
// Threads: safe. Signals: as malloc; a handler in between that takes the slow path displaces later
// drawn bytes like one inside the fast path (docs/internals/estimators.md, section 2.3). Fork:
// safe.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>

#include "api/connection.h"

namespace geiger::api {
namespace {

void* allocate(std::size_t wanted) {
  // An object without bytes always takes the slow path.
  const std::size_t size = std::max<std::size_t>(wanted, 1);
  const capture::Interface* capture = connection();
  if (capture == nullptr) return std::malloc(size);
  capture::ThreadLocal& thread = *capture->thread();
  const std::atomic_ref countdown(thread.countdown);
  const capture::Asked outer = thread.asked;
  thread.asked = {__builtin_frame_address(0), size, trace::EntryPoint::kNew, true};
  const std::uint64_t before = countdown.fetch_add(size, std::memory_order_relaxed);
  void* block = std::malloc(size);
  // The program's malloc is not ours.
  if (countdown.load(std::memory_order_relaxed) == before + size) {
    countdown.fetch_sub(size, std::memory_order_relaxed);
  }
  thread.asked = outer;
  return block;
}

}  // namespace
}  // namespace geiger::api

void* operator new(std::size_t size) {
  void* block = geiger::api::allocate(size);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return geiger::api::allocate(size);
}
void* operator new[](std::size_t size) { return operator new(size); }

void operator delete(void* block) noexcept { std::free(block); }
void operator delete(void* block, std::size_t) noexcept { std::free(block); }
void operator delete[](void* block) noexcept { std::free(block); }
void operator delete[](void* block, std::size_t) noexcept { std::free(block); }
