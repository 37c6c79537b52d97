#include "analysis/ingest/inheritance.h"

#include <algorithm>

namespace geiger::ingest {
namespace {

/// Of all that live at one instant no two have the same address; the time tells apart what
/// had it one after the other.
std::uint64_t birth_of(Nanoseconds time, Address address) {
  return profile::spread(profile::spread(0, time), address);
}

}  // namespace

std::optional<SamplePlace> Survivors::by_reference(trace::Ref previous) const {
  if (!is_next_ || previous == 0) return std::nullopt;
  const std::uint32_t own = before_.samples.find(previous);
  if (own != profile::kNone) return SamplePlace{own, true};
  const std::uint32_t other = before_.heap_samples.find(previous);
  if (other != profile::kNone) return SamplePlace{other, false};
  return std::nullopt;
}

std::optional<SamplePlace> Survivors::by_birth(const trace::SampleRecord& sample) {
  for (; !knows_births_; knows_births_ = true) {
    for (const SamplePlace& place : before_.live) {
      const profile::Sample& live = place.in(recording_);
      births_.try_emplace(birth_of(live.time, live.address), place);
    }
  }
  const auto found = births_.find(birth_of(sample.time, sample.address));
  if (found == births_.end()) return std::nullopt;
  return found->second;
}

std::optional<SamplePlace> Survivors::find(const trace::CarriedRecord& carried) {
  std::optional<SamplePlace> found = by_reference(carried.previous);
  // A reference is trusted only as far as it goes: damage must not join strangers.
  if (found) {
    const profile::Sample& sample = found->in(recording_);
    const bool is_same =
        sample.time == carried.sample.time && sample.address == carried.sample.address;
    if (!is_same) found.reset();
  }
  if (!found) found = by_birth(carried.sample);
  if (found) found_.insert(found->key());
  return found;
}

void Survivors::free_others(Nanoseconds time) {
  for (const SamplePlace& place : before_.live) {
    profile::Sample& sample = place.in(recording_);
    if (sample.free_time != 0 || found_.contains(place.key())) continue;
    sample.free_time = std::max({time, sample.time, Nanoseconds{1}});
  }
}

std::vector<SamplePlace> Survivors::still_living() const {
  std::vector<SamplePlace> living;
  for (const SamplePlace& place : before_.live) {
    if (place.in(recording_).free_time == 0) living.push_back(place);
  }
  return living;
}

}  // namespace geiger::ingest
