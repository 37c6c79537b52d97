// A process that sleeps until a controller or a tool requests a recording (trace/rendezvous.h).
//
//   first slow path    the bell is mapped, the descriptor closed
//   every further one  one word of the bell is read, or of the rendezvous once there is one
//   called             the rendezvous is mapped; its requests are carried out
//   listened to        samples are taken for the tool alone (dormancy.cc)
//
// While the process sleeps, a thread's counter is set to T - 1 without a draw: there are no trials,
// so there is nothing to draw, and a request is noticed after T bytes at most. When a recording
// begins, each thread draws its first skip count at its next slow path. The position of that slow
// path depends on sizes alone, so every later byte has the same chance.
//
// Threads / Signals: lock-free; one thread carries out a request. Fork: the child uses the same
// bell and has a rendezvous of its own. Allocates: never.
#pragma once

#include <cstdint>

#include "trace/rendezvous.h"

namespace geiger::capture {

/// Whether this process sleeps while no recording is wanted.
[[nodiscard]] bool sleeps();

/// Finds or creates the bell, once in a process; there is none without a directory that only this
/// user can write to.
void hang_bell();

/// A request that has not been carried out yet.
enum class Request { kNone, kStart, kStop };
[[nodiscard]] Request pending_request();

/// The options of a request; valid until the next one is accepted.
struct Wish {
  const char* directory;   ///< Null: none given.
  const char* otherwise;   ///< Used if no trace can be created in `directory`; null: none.
  std::uint64_t interval;  ///< 0: that of the settings.
};
Wish accept_request();

/// Reports the result to the waiting controller: 0 or the errno of the failure.
void answer_request(trace::Presence presence, int error);

/// In fork's child: the rendezvous is the parent's.
void forget_rendezvous();

/// At exit: removes the rendezvous file, if there is one.
void leave_rendezvous();

}  // namespace geiger::capture
