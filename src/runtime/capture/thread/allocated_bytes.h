// The exact number of bytes that a thread, or the process, has asked malloc and its kin for,
// whether they were sampled, and whether recording is paused:
//
//   bytes of a thread = settled + (armed - countdown)
//
// A thread settles at its slow paths; what it asked for since is read off its counter. A
// reader finds the three together where `settling` is even and the same before and after.
//
// Threads: any may ask; it waits a little for those in the middle of a slow path. Signals:
// safe; a handler that interrupted a slow path cannot be told its own thread's bytes. Fork:
// the child counts from 0. Allocates: never.
#pragma once

#include <cstdint>

namespace geiger::capture {

enum class Counted : std::uint8_t {
  kYes,
  kNotRecording,  ///< Counters no longer say what was allocated.
  kInterrupted,   ///< The calling thread is inside a slow path, further up its stack.
};

/// The bytes of the calling thread since its start.
Counted bytes_of_thread(std::uint64_t& bytes);

struct ProcessBytes {
  std::uint64_t bytes;
  /// At most so many more, of threads whose counters could not be read.
  std::uint64_t missing;
};
/// The bytes of all threads, including those that have ended.
Counted bytes_of_process(ProcessBytes& found);

}  // namespace geiger::capture
