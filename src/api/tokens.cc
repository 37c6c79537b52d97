// Profiles that run from a start to a stop.
//
//   token = [begin, end) in the stream of samples: starting and stopping read a
//   position and, if the interval changes, write one epoch; the cost does not depend on
//   the number of running tokens or of their samples.
#include <algorithm>

#include "api/connection.h"
#include "api/gate.h"
#include "api/profiles.h"
#include "api/session.h"
#include "base/clock.h"
#include "runtime/capture/image/image.h"

namespace geiger::api {
namespace {

bool can_run(geiger_profile_kind kind) {
  return kind == GEIGER_ALLOCATIONS || kind == GEIGER_LIFETIMES ||
         kind == GEIGER_COMPLETE_LIFETIMES;
}

/// Makes the process draw finely enough for the token.
geiger_status ask_for_interval(Session& now, Token& token) {
  const std::uint64_t own = now.demand.own();
  if (token.interval == 0) token.interval = own;
  if (token.interval >= own) return GEIGER_OK;
  token.demand = token.interval;
  return now.demand.want(token.demand);
}

void release(Session& now, const Token& token) {
  if (token.is_parents) return;  // It has no requests here.
  if (token.demand != 0) now.demand.want_no_more(token.demand);
  now.demand.remove_user();
}

geiger_status start(geiger_profile_kind kind, std::uint64_t interval, geiger_token& out) {
  capture::Status status{};
  const geiger_status recording = recorder(status);
  if (recording != GEIGER_OK) return recording;
  Session& now = session();
  Token token;
  token.kind = kind;
  token.interval = interval;
  const auto [at, is_new] = now.tokens.try_emplace(++now.last_id);
  now.demand.add_user();
  geiger_status result = ask_for_interval(now, token);
  if (result == GEIGER_OK) result = position_now(token.begin);
  if (result != GEIGER_OK) {
    release(now, token);
    now.tokens.erase(at);
    return result;
  }
  token.largest_interval = largest_interval_in_use();
  token.from = base::monotonic_now();
  at->second = token;
  out.id = at->first;
  return GEIGER_OK;
}

std::shared_ptr<Profile> profile_of(const Token& token, const Position& end) {
  auto profile = std::make_shared<Profile>();
  profile->kind = token.kind;
  profile->started = token.begin;
  profile->stopped = end;
  profile->interval = token.interval;
  profile->largest_interval = std::max(token.interval, token.largest_interval);
  profile->from = token.from;
  profile->to = base::monotonic_now();
  return profile;
}

/// GEIGER_OK if the token's samples are those of this process.
geiger_status end_of(const Token& token, Position& end) {
  capture::Status status{};
  static_cast<void>(recorder(status));  // Recorded samples can always be read.
  const bool is_own = status.header != nullptr && token.begin.image >= status.first_image;
  return is_own ? position_now(end) : GEIGER_OTHER_PROCESS;
}

geiger_status stop(geiger_token id, geiger_profile* out) {
  Session& now = session();
  const auto at = now.tokens.find(id.id);
  if (at == now.tokens.end()) return status_of_unknown(id.id);
  const Token token = at->second;
  Position end;
  const geiger_status status = end_of(token, end);
  if (status == GEIGER_OK && out != nullptr) out->id = add_profile(now, profile_of(token, end));
  now.tokens.erase(at);
  release(now, token);
  return status;
}

}  // namespace
}  // namespace geiger::api

using namespace geiger::api;  // NOLINT: the C names below live outside.

geiger_status geiger_start_profile(geiger_profile_kind kind, uint64_t interval,
                                   geiger_token* token) {
  if (token == nullptr) return GEIGER_BAD_ARGUMENT;
  *token = {};
  if (!can_run(kind)) return GEIGER_BAD_ARGUMENT;
  if (interval > GEIGER_MAX_INTERVAL) return GEIGER_BAD_INTERVAL;
  return guarded_by_gate([&] { return start(kind, interval, *token); });
}

geiger_status geiger_stop_profile(geiger_token token, geiger_profile* profile) {
  if (profile != nullptr) *profile = {};
  return guarded_by_gate([&] { return stop(token, profile); });
}
