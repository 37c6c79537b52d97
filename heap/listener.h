// The interface to a recorder of samples: the allocator draws, places and frees, and calls the
// listener.
//
// Draws never stop: without a listener they continue at kDefaultInterval and are discarded, so that
// a recording can begin at any instant, and so that "off" executes the same code as "on".
//
// Threads: one thread at a time calls listen(); any thread calls the listener. Signals: not from
// handlers. Fork: a child keeps the listener and draws its own bytes. Allocates: the allocator
// itself does not while it calls a listener; the listener may, and then sees its own samples too.
#pragma once

#include <cstddef>
#include <cstdint>

namespace geiger::heap {

inline constexpr std::uint64_t kDefaultInterval = std::uint64_t{512} << 10;

/// An object that contains a drawn byte, with the facts that docs/guide/sampling-contract.md
/// requires.
struct Sample {
  void* address;
  std::size_t requested;
  std::size_t usable;
  std::size_t alignment;   ///< 0: none was requested.
  std::uint64_t interval;  ///< T of the draw, not the current one.
  std::uint64_t offset;    ///< Of the drawn byte.
  bool is_certain;         ///< At least T bytes: not drawn; offset is 0.
  /// Whether freed() will be called. Not without memory for its record, and not if a signal handler
  /// allocates it while its thread works on records.
  bool is_followed = true;
};

struct Listener {
  /// Called before the program gets the object, without locks held; a stack walk from here reaches
  /// malloc's caller. The returned number is passed to freed().
  std::uint64_t (*sampled)(const Sample* sample);
  /// Called before the address can be handed out again.
  void (*freed)(std::uint64_t number, const void* address);
};

/// Takes effect at once in the calling thread, in others at their next slow path. T = `interval`;
/// 0: never draw. A null listener: draws are discarded. `seed` 0: keep the generators; else all
/// restart from it. The listener must stay valid for ever, and is called for frees of earlier
/// samples too.
void listen(const Listener* listener, std::uint64_t interval, std::uint64_t seed);

/// From now on, free memory stays with the allocator (true), or is returned after a while, as at
/// first (false). For programs that give up their system calls: a later return would end them.
void keep_memory(bool keeps);

}  // namespace geiger::heap
