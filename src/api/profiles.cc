#include "api/profiles.h"

#include <utility>

#include "api/gate.h"

namespace geiger::api {
namespace {

/// Reads the samples of a stopped token at the first access.
geiger_status read(Session& now, Profile& profile) {
  if (profile.is_read) return GEIGER_OK;
  const geiger_status status = read_token(profile, now.directory);
  if (status != GEIGER_OK) return status;
  keep_references(profile, now.directory);
  profile.is_read = true;
  return GEIGER_OK;
}

geiger_status describe(const Profile& profile, geiger_profile_info& info) {
  info.kind = profile.kind;
  info.samples = profile.samples.size();
  info.from = profile.from;
  info.to = profile.to;
  info.interval = profile.largest_interval;
  info.unfinished = profile.unfinished;
  return GEIGER_OK;
}

}  // namespace

std::uint64_t add_profile(Session& now, std::shared_ptr<Profile> profile) {
  now.profiles.emplace(now.last_id + 1, std::move(profile));
  return ++now.last_id;
}

geiger_status find_profile(geiger_profile handle, std::shared_ptr<Profile>& found) {
  const Gate gate;
  if (gate.status() != GEIGER_OK) return gate.status();
  Session& now = session();
  const auto at = now.profiles.find(handle.id);
  if (at == now.profiles.end()) return status_of_unknown(handle.id);
  found = at->second;
  return read(now, *found);
}

}  // namespace geiger::api

using namespace geiger::api;  // NOLINT: the C names below live outside.

geiger_status geiger_free_profile(geiger_profile profile) {
  std::shared_ptr<Profile> freed;  // Destroyed after the lock is released, as that may take long.
  return guarded_by_gate([&] {
    Session& now = session();
    const auto at = now.profiles.find(profile.id);
    if (at == now.profiles.end()) return status_of_unknown(profile.id);
    freed = std::move(at->second);
    now.profiles.erase(at);
    return GEIGER_OK;
  });
}

geiger_status geiger_get_profile_info(geiger_profile profile, geiger_profile_info* info) {
  if (info == nullptr) return GEIGER_BAD_ARGUMENT;
  *info = {};
  return guarded([&] {
    std::shared_ptr<Profile> found;
    const geiger_status status = find_profile(profile, found);
    return status == GEIGER_OK ? describe(*found, *info) : status;
  });
}

geiger_status geiger_visit_samples(geiger_profile profile, geiger_visitor visit, void* context) {
  if (visit == nullptr) return GEIGER_BAD_ARGUMENT;
  return guarded([&] {
    std::shared_ptr<Profile> found;
    const geiger_status status = find_profile(profile, found);
    if (status != GEIGER_OK) return status;
    for (const Drawn& drawn : found->samples) {
      const geiger_sample sample = sample_of(*found, drawn);
      if (visit(context, &sample) != 0) break;
    }
    return GEIGER_OK;
  });
}
