// Profiles of live objects, read from the capture's table while all threads keep running.
#include <algorithm>
#include <cmath>
#include <span>

#include "api/connection.h"
#include "api/gate.h"
#include "api/peak.h"
#include "api/profiles.h"
#include "api/residency.h"
#include "api/session.h"
#include "base/clock.h"

namespace geiger::api {
namespace {

/// A live sample: its record, and the record's trace, which may not be the current one while
/// samples are being carried.
struct Live {
  std::uint32_t image;
  trace::Ref ref;
  // NOLINTNEXTLINE(modernize-use-nullptr): it takes a 0 of the compiler's for ours.
  auto operator<=>(const Live&) const = default;
};

/// Collects the table's samples; an exception must not pass through the capture.
struct Collected {
  std::vector<Live> found;
  const MappedTrace& trace;
  bool is_out_of_memory = false;
};

void collect(void* context, std::uint64_t, std::uint32_t image, trace::Ref sample) {
  auto& collected = *static_cast<Collected*>(context);
  // A sample reserved after the end came after the snapshot began, unless it was carried there: a
  // segment comes into use before the live samples are carried into it.
  const MappedTrace& trace = collected.trace;
  const bool is_behind = image == trace.image && Bytes{sample} * 8 >= trace.end;
  const bool is_late = is_behind && trace.header_of(sample).type != trace::RecordType::kCarried;
  if (is_late || collected.is_out_of_memory) return;
  try {
    collected.found.push_back({image, sample});
  } catch (const std::bad_alloc&) {
    collected.is_out_of_memory = true;
  }
}

/// Copies the samples of one trace. If the trace is gone, they count as unfinished.
void read_live_of(Profile& profile, const HeldTrace& present, std::span<const Live> found) {
  HeldTrace other;
  const bool is_present = found.front().image == present->image;
  if (!is_present && other.hold(found.front().image) != GEIGER_OK) {
    profile.unfinished += found.size();
    return;
  }
  const MappedTrace& trace = is_present ? *present : *other;
  profile.records.read_from(trace);
  for (const Live& live : found) {
    Drawn drawn = as_recorded(trace, live.ref);
    drawn.until = profile.to;
    drawn.ref = profile.records.add(live.ref);
    profile.samples.push_back(drawn);
  }
}

void read_live(Profile& profile, const HeldTrace& present, std::size_t expected) {
  Collected collected{{}, *present};
  collected.found.reserve(expected + expected / 8 + 64);
  connection()->for_each_live(collect, &collected);
  if (collected.is_out_of_memory) throw std::bad_alloc();
  // In the order of the stream, so that the same live heap always gives the same profile.
  std::ranges::sort(collected.found);
  profile.samples.reserve(collected.found.size());
  profile.records.read_from(*present);
  for (auto at = collected.found.begin(); at != collected.found.end();) {
    const auto next =
        std::ranges::upper_bound(at, collected.found.end(), at->image, {}, &Live::image);
    read_live_of(profile, present, {at, next});
    at = next;
  }
  profile.trace = profile.records.view();
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
    const Residency::Found found = residency.look(record.address, record.requested());
    drawn->value = found.resident;
    drawn->swapped = found.swapped;
    drawn->untouched = found.untouched;
  }
}

void read_peak_of(Profile& profile, const HeldTrace& present) {
  profile.trace = *present;
  profile.begin = trace::kRecordsOffset;
  profile.end = present->end;
  profile.counts_carried = true;
  read_peak(profile);
  keep_records(profile);
}

void read_kind(Profile& profile, const HeldTrace& present, std::size_t live_samples) {
  if (profile.kind == GEIGER_PEAK) return read_peak_of(profile, present);
  read_live(profile, present, live_samples);
  if (profile.kind == GEIGER_FRAGMENTATION) measure_fragmentation(profile);
  if (profile.kind == GEIGER_RESIDENCY) measure_residency(profile);
}

geiger_status take(geiger_profile_kind kind, geiger_profile& out) {
  capture::Status status{};
  const geiger_status recording = recorder(status);
  // Allocations since the end of recording are unknown, and so is the current heap.
  if (recording != GEIGER_OK) return recording;
  if (status.is_paused) return GEIGER_NOT_RECORDING;
  HeldTrace present;
  const geiger_status readable = present.hold_current();
  if (readable != GEIGER_OK) return readable;
  auto profile = std::make_shared<Profile>();
  profile->kind = kind;
  profile->from = profile->to = base::monotonic_now();
  Session& now = session();
  read_kind(*profile, present, status.live_samples);
  now.directory.read(*present, present.first_image());
  keep_references(*profile, now.directory);
  // Live objects may be as old as the recording. For a peak, only a part of the samples estimates.
  const auto largest = static_cast<double>(now.demand.largest_interval(status.largest_interval));
  profile->largest_interval = static_cast<std::uint64_t>(std::ceil(largest / profile->rate_factor));
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
