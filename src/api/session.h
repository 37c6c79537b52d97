// The state of the API in this process, its only lock, and whether and at which interval it
// records.
#pragma once

#include <cxxabi.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <new>
#include <set>
#include <unordered_map>

#include "api/profile.h"
#include "geiger/geiger.h"
#include "runtime/capture/interface.h"

namespace geiger::api {

// The API's only lock, for everything except per-sample work: tokens, profiles, settings,
// definitions.
//
// It is refused, not waited for, where waiting could deadlock: in a listener, which an allocation
// under the lock may have called, and in a signal handler that interrupted its own thread under it.
//
// Fork: the forking thread holds it, so the child finds everything consistent.

class Gate {
 public:
  Gate();
  ~Gate();
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  /// GEIGER_OK, or the reason of the refusal: GEIGER_IN_LISTENER, GEIGER_BUSY.
  [[nodiscard]] geiger_status status() const { return status_; }

 private:
  geiger_status status_ = GEIGER_IN_LISTENER;
};

/// Whether the current "exception" is a thread's end (pthread_cancel, pthread_exit), which must not
/// be stopped. It has no type.
inline bool ends_thread() { return abi::__cxa_current_exception_type() == nullptr; }

/// Runs `call` and converts exceptions to status codes, except a thread's end.
template <typename Call>
geiger_status guarded(const Call& call) {
  try {
    return call();
  } catch (const std::bad_alloc&) {
    return GEIGER_NO_MEMORY;
  } catch (...) {
    if (ends_thread()) throw;
    return GEIGER_THREW;
  }
}

/// Like guarded(), under the lock.
template <typename Call>
geiger_status guarded_by_gate(const Call& call) {
  return guarded([&] {
    const Gate gate;
    return gate.status() != GEIGER_OK ? gate.status() : call();
  });
}

// Tracks whether the program wants samples (a token, a listener, a started recording), and at which
// interval: holds and resumes a recording in memory, and sets the smallest interval that the
// program or a token requests.
//
//   in force = min(own, what tokens want),   held <=> in memory and no user

/// The largest interval still in use: threads that have not adopted the one in force may use an
/// older one.
[[nodiscard]] std::uint64_t largest_interval_in_use();

class Demand {
 public:
  /// Adds a user of samples. Recording is on when this returns.
  void add_user();
  void remove_user();

  /// Requests the interval, for as long as a token runs.
  [[nodiscard]] geiger_status want(std::uint64_t interval);
  void want_no_more(std::uint64_t interval);

  /// The program's own interval.
  [[nodiscard]] geiger_status set_own(std::uint64_t interval);
  [[nodiscard]] std::uint64_t own();

  /// The largest interval with which recorded samples can have been drawn. `in_force`: the largest
  /// that was in force.
  [[nodiscard]] std::uint64_t largest_interval(std::uint64_t in_force) const {
    return std::max(in_force, largest_at_start_);
  }

  /// A fork's child starts with the program's own interval and these users.
  void restart(std::uint32_t users);

 private:
  void hold(bool is_held) const;
  void begin(const capture::Status& status);
  std::uint64_t observe();
  geiger_status apply();

  std::uint32_t users_ = 0;
  bool is_in_memory_ = false;
  std::uint64_t own_ = 0;
  std::uint64_t set_ = 0;  ///< The last interval set for tokens; any other comes from outside.
  std::multiset<std::uint64_t> wanted_;
  std::uint32_t begun_in_ = 0;          ///< First segment of the process in which recording began.
  std::uint64_t largest_at_start_ = 0;  ///< In use at that time, though not in force.
};

// The state of the API in this process: tokens, profiles, and whether and at which interval to
// record.
//
// One session, created at the first use and never destroyed: calls may come before main and after
// its end. Protected by the gate.

/// A running profile.
struct Token {
  geiger_profile_kind kind = GEIGER_ALLOCATIONS;
  std::uint64_t interval = 0;          ///< To thin to.
  std::uint64_t demand = 0;            ///< Smaller interval requested of the process, 0 = none.
  std::uint64_t largest_interval = 0;  ///< In use by any thread at the start.
  Position begin;
  Nanoseconds from = 0;
  bool is_parents = false;  ///< Of the parent process.
};

struct Session {
  Demand demand;
  Directory directory;
  std::unordered_map<std::uint64_t, Token> tokens;
  std::unordered_map<std::uint64_t, std::shared_ptr<Profile>> profiles;
  std::uint64_t last_id = 0;     ///< Ids are never used twice.
  std::uint32_t recordings = 0;  ///< geiger_start_recording() without its stop.
};

[[nodiscard]] Session& session();

/// The status for an id that is not in a map: gone, or never used.
[[nodiscard]] geiger_status status_of_unknown(std::uint64_t id);

/// In a fork's child: tokens stay the parent's, and their requested intervals no longer count.
void restart_session_in_child();

}  // namespace geiger::api
