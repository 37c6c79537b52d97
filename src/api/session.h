// The state of the API in this process: tokens, profiles, and whether and at which interval to
// record.
//
// One session, created at the first use and never destroyed: calls may come before main and after
// its end. Protected by the gate (gate.h).
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>

#include "api/demand.h"
#include "api/directory.h"
#include "api/profile.h"
#include "geiger/geiger.h"

namespace geiger::api {

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
