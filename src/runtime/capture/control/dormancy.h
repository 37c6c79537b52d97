// A process that sleeps until a controller or a tool wants a recording of it (trace/rendezvous.h).
//
//   first slow path    the bell is mapped, the descriptor closed
//   every further one  one word of the bell is read, or of the rendezvous once there is one
//   called             the rendezvous is mapped; its requests are carried out
//   listened to        samples are taken for the tool alone (sleep.cc)
//
// Asleep, a thread's counter is set to T - 1 without a draw: nothing is tried, so there
// is nothing to draw, and a request is met T bytes later at the latest. When a recording
// begins, each thread draws its first skip count at its next slow path. Where that lies
// depends on sizes alone, so every byte from there on has the same chance.
//
// Threads / Signals: lock-free; one thread carries a request out. Fork: the child hears the
// same bell and has a rendezvous of its own. Allocates: never.
#pragma once

#include <cstdint>

#include "trace/rendezvous.h"

namespace geiger::capture {

/// Whether this process goes to sleep when no recording is wanted (any more).
[[nodiscard]] bool sleeps();

/// Finds or makes the bell, once in a process. False: there is no place for one that only this user
/// may write to.
[[nodiscard]] bool hang_bell();

/// A request that has not been carried out yet.
enum class Request { kNone, kStart, kStop };
[[nodiscard]] Request pending_request();

/// The options of a request; valid until the next one is accepted.
struct Wish {
  const char* directory;   ///< Null: there is none.
  const char* otherwise;   ///< Where no trace can be made in `directory`; null: nowhere.
  std::uint64_t interval;  ///< 0: the settings' own.
};
Wish accept_request();

/// Answers the waiting controller with the result of its request: the errno that refused it, else
/// 0.
void answer_request(trace::Presence presence, int error);

/// In fork's child: the rendezvous is the parent's.
void forget_rendezvous();

/// At exit: removes the file, if there is one.
void leave_rendezvous();

}  // namespace geiger::capture
