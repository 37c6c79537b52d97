#include "analysis/follow/tally_set.h"

#include <tuple>

#include "analysis/profile/hash.h"

namespace geiger::follow {

using profile::spread;

TallySet::TallySet(profile::Recording& recording)
    : tallies_(recording.tallies), known_(64, Hash{recording.tallies}, Same{recording.tallies}) {}

std::size_t TallySet::Hash::operator()(std::uint32_t index) const {
  const profile::Tally& tally = tallies.get()[index];
  const profile::Sample& sample = tally.alike;
  std::uint64_t hash = spread(profile::table_seed(), sample.stack);
  hash = spread(spread(hash, sample.requested), sample.usable);
  hash = spread(hash, std::uint64_t{sample.thread} << 32 | sample.process);
  hash = spread(hash, std::uint64_t{sample.label} << 32 | sample.type);
  return spread(hash, std::uint64_t{sample.epoch} << 32 | sample.heap);
}

bool TallySet::Same::operator()(std::uint32_t a, std::uint32_t b) const {
  const auto key = [](const profile::Tally& tally) {
    const profile::Sample& sample = tally.alike;
    return std::tuple(sample.stack, sample.requested, sample.usable, sample.thread, sample.process,
                      sample.label, sample.type, sample.epoch, sample.heap, sample.is_certain,
                      is_allocation_seen(sample), tally.is_tracked);
  };
  return key(tallies.get()[a]) == key(tallies.get()[b]);
}

std::uint32_t TallySet::find(const profile::Sample& sample, bool is_tracked) {
  const auto next = static_cast<std::uint32_t>(tallies_.size());
  tallies_.push_back({.alike = sample, .last = sample.time, .is_tracked = is_tracked});
  const auto [place, is_new] = known_.insert(next);
  if (!is_new) tallies_.pop_back();
  return *place;
}

}  // namespace geiger::follow
