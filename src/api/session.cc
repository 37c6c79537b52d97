#include "api/session.h"

#include "api/listeners.h"

namespace geiger::api {
namespace {

constinit Session* known = nullptr;

}  // namespace

Session& session() {
  if (known == nullptr) known = new Session;
  return *known;
}

geiger_status status_of_unknown(std::uint64_t id) {
  const bool was_given = known != nullptr && id != 0 && id <= known->last_id;
  return was_given ? GEIGER_ALREADY_STOPPED : GEIGER_BAD_HANDLE;
}

void restart_session_in_child() {
  if (known == nullptr) return;
  for (auto& [id, token] : known->tokens) token.is_parents = true;
  known->demand.restart(known->recordings + listener_count());
}

}  // namespace geiger::api
