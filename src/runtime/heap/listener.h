// The interface to a recorder of samples: the allocator draws, places and frees, and calls the
// listener.
//
// Draws never stop: without a listener they go on at kDefaultInterval and are dropped, so that a
// recording can begin at any instant, and so that "off" executes what "on" does.
//
// Threads: listen() one at a time, the listener is called by any thread. Signals: not from
// handlers. Fork: a child keeps the listener and draws its own bytes. Allocates: the allocator
// never while it calls a listener; the listener may, and then sees its own samples as well.
#pragma once

#include <cstddef>
#include <cstdint>

namespace geiger::heap {

inline constexpr std::uint64_t kDefaultInterval = std::uint64_t{512} << 10;

/// An object that contains a drawn byte, with what docs/sampling-contract.md asks of a sample.
struct Sample {
  void* address;
  std::size_t requested;
  std::size_t usable;
  std::size_t alignment;   ///< 0: none was asked for.
  std::uint64_t interval;  ///< T of the draw, not the newest.
  std::uint64_t offset;    ///< Of the drawn byte.
  bool is_certain;         ///< At least T bytes: not drawn; offset is 0.
};

struct Listener {
  /// Called before the program gets the object, with no lock held; a stack walk from here ends
  /// where malloc was called. The number comes back when the object ends.
  std::uint64_t (*sampled)(const Sample* sample);
  /// Called before the address can be handed out again.
  void (*freed)(std::uint64_t number, const void* address);
};

/// From now on, for the calling thread; for others from their next slow path on. T = `interval`,
/// which is 0 for never. A null listener: draws are dropped. `seed` 0: keep the generators, else
/// all start again from it. The listener stays for ever, and gets the ends of earlier samples too.
void listen(const Listener* listener, std::uint64_t interval, std::uint64_t seed);

/// Objects that were drawn and not reported, for want of memory for their record.
std::uint64_t lost_samples();

}  // namespace geiger::heap
