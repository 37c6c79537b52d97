// The exact number of bytes that a thread or the process has requested from malloc and related
// functions, sampled or not, recording paused or not:
//
//   bytes of a thread = settled + (armed - countdown)
//
// A thread settles at its slow paths; its later requests are read from its counter. The three
// values are consistent if `settling` is even and the same before and after reading them.
//
// Threads: any may ask; it waits briefly for threads inside a slow path. Signals: safe; a handler
// that interrupted a slow path cannot read its own thread's bytes. Fork:
// the child counts from 0. Allocates: never.
#pragma once

#include <cstdint>

namespace geiger::capture {

enum class Counted : std::uint8_t {
  kYes,
  kNotRecording,  ///< Counters no longer measure allocated bytes.
  kInterrupted,   ///< The calling thread is inside a slow path, further up its stack.
};

/// The bytes of the calling thread since its start.
Counted bytes_of_thread(std::uint64_t& bytes);

struct ProcessBytes {
  std::uint64_t bytes;
  /// At most this many more, of threads whose counters could not be read.
  std::uint64_t missing;
};
/// The bytes of all threads, including those that have ended.
Counted bytes_of_process(ProcessBytes& found);

}  // namespace geiger::capture
