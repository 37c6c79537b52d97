// Profiles of what is live: read from the capture's table while everybody goes on.
#include <algorithm>
#include <exception>

#include "base/clock.h"
#include "runtime/api/connection.h"
#include "runtime/api/gate.h"
#include "runtime/api/peak.h"
#include "runtime/api/profiles.h"
#include "runtime/api/residency.h"
#include "runtime/api/session.h"

namespace geiger::api {
namespace {

/// Collects what the table holds; an exception must not pass through the capture.
struct Collected {
  std::vector<trace::Ref> refs;
  Bytes end;  ///< What was reserved behind it came after the question.
  bool is_out_of_memory = false;
};

void collect(void* context, std::uint64_t, trace::Ref sample) {
  auto& collected = *static_cast<Collected*>(context);
  if (Bytes{sample} * 8 >= collected.end || collected.is_out_of_memory) return;
  try {
    collected.refs.push_back(sample);
  } catch (const std::bad_alloc&) {
    collected.is_out_of_memory = true;
  }
}

void read_live(Profile& profile, std::size_t expected) {
  Collected collected{{}, profile.end};
  collected.refs.reserve(expected + expected / 8 + 64);
  connection()->for_each_live(collect, &collected);
  if (collected.is_out_of_memory) throw std::bad_alloc();
  // In the order of the trace: for the same live heap always the same profile.
  std::ranges::sort(collected.refs);
  profile.samples.reserve(collected.refs.size());
  for (const trace::Ref ref : collected.refs) {
    profile.samples.push_back(as_recorded(profile.trace, ref));
    profile.samples.back().until = profile.to;
  }
}

void measure_fragmentation(Profile& profile) {
  for (Drawn& drawn : profile.samples) {
    const trace::SampleRecord& record = profile.trace.sample(drawn.ref);
    drawn.value = std::max(record.usable(), record.requested()) - record.requested();
  }
}

void measure_residency(Profile& profile) {
  std::erase_if(profile.samples,
                [&](const Drawn& drawn) { return profile.trace.sample(drawn.ref).heap() != 0; });
  std::vector<Drawn*> by_address;
  by_address.reserve(profile.samples.size());
  for (Drawn& drawn : profile.samples) by_address.push_back(&drawn);
  std::ranges::sort(by_address, {},
                    [&](const Drawn* drawn) { return profile.trace.sample(drawn->ref).address; });
  Residency residency;
  for (Drawn* drawn : by_address) {
    const trace::SampleRecord& record = profile.trace.sample(drawn->ref);
    drawn->value = residency.resident(record.address, record.requested());
  }
}

void read_kind(Profile& profile, std::size_t live_samples) {
  if (profile.kind == GEIGER_PEAK) return read_peak(profile);
  read_live(profile, live_samples);
  if (profile.kind == GEIGER_FRAGMENTATION) measure_fragmentation(profile);
  if (profile.kind == GEIGER_RESIDENCY) measure_residency(profile);
}

/// The largest interval that anything of a trace can have been drawn with.
std::uint64_t largest_interval(const Session& now, const LiveTrace& trace) {
  const Beginning beginning = now.demand.beginning(trace.image);
  return std::max(beginning.interval, now.directory.largest_interval_since(beginning.position));
}

geiger_status take(geiger_profile_kind kind, geiger_profile& out) {
  capture::Status status{};
  const geiger_status recording = recorder(status);
  // What was allocated since recording ended is unknown, so nothing can be said of now.
  if (recording != GEIGER_OK) return recording;
  if (status.is_paused) return GEIGER_NOT_RECORDING;
  auto profile = std::make_shared<Profile>();
  const geiger_status readable = live_trace(profile->trace);
  if (readable != GEIGER_OK) return readable;
  profile->kind = kind;
  profile->begin = trace::kRecordsOffset;
  profile->end = profile->trace.end;
  profile->from = profile->to = base::monotonic_now();
  Session& now = session();
  read_kind(*profile, status.live_samples);
  now.directory.read(profile->trace);
  keep_references(*profile, now.directory);
  // What lives may be as old as the trace. Of the peak one half estimates.
  profile->largest_interval = largest_interval(now, profile->trace) * (kind == GEIGER_PEAK ? 2 : 1);
  profile->is_read = true;
  out.id = add_profile(now, std::move(profile));
  return GEIGER_OK;
}

}  // namespace
}  // namespace geiger::api

geiger_status geiger_take_snapshot(geiger_profile_kind kind, geiger_profile* profile) {
  if (profile == nullptr) return GEIGER_BAD_ARGUMENT;
  *profile = {};
  if (kind < GEIGER_LIVE || kind > GEIGER_RESIDENCY) return GEIGER_BAD_ARGUMENT;
  return geiger::api::guarded_by_gate([&] { return geiger::api::take(kind, *profile); });
}
