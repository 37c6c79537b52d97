#include "analysis/profile/lives/old_ages.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "analysis/profile/groups/groupings.h"
#include "analysis/profile/lives/lifetimes.h"
#include "analysis/profile/thinned.h"
#include "estimation/counts.h"

namespace geiger::profile {
namespace {

/// Of this many freed objects a 95 % quantile is known to some degree.
constexpr std::size_t kEnoughFreed = 20;
constexpr double kOldQuantile = 0.95;

/// Whether its life shows how long objects live: watched from allocation to free.
bool is_whole_life(const Sample& sample) {
  return sample.free_time != 0 && !sample.is_thinned_out && is_allocation_seen(sample);
}

/// Lives of freed objects and what they weigh.
class FreedLives {
 public:
  void add(Nanoseconds life, double weight) { lives_.emplace_back(life, weight); }

  /// The life that all but 5 % of the weight did not exceed; nothing of too few.
  [[nodiscard]] std::optional<Nanoseconds> old_from() {
    if (lives_.size() < kEnoughFreed) return std::nullopt;
    std::ranges::sort(lives_);
    double sum = 0;
    for (const auto& [life, weight] : lives_) sum += weight;
    double passed = 0;
    for (const auto& [life, weight] : lives_) {
      passed += weight;
      if (passed >= kOldQuantile * sum) return life;
    }
    return lives_.back().first;
  }

 private:
  std::vector<std::pair<Nanoseconds, double>> lives_;
};

}  // namespace

double weight_of(const Recording& recording, const Sample& sample) {
  const estimation::Count count = count_of_fate(recording, sample);
  return static_cast<double>(estimation::tried_bytes(count.size)) /
         estimation::inclusion_probability(count);
}

std::optional<Nanoseconds> old_from(const Recording& recording,
                                    std::span<const std::uint32_t> samples) {
  FreedLives lives;
  for (const std::uint32_t index : samples) {
    const Sample& sample = recording.samples[index];
    if (!is_whole_life(sample)) continue;
    lives.add(watched_for(recording, sample), weight_of(recording, sample));
  }
  return lives.old_from();
}

AgesBySize old_from_by_size(const Recording& recording) {
  std::array<FreedLives, kSizeClasses> lives;
  for (const Sample& sample : recording.samples) {
    if (!is_whole_life(sample)) continue;
    lives[size_class_of(sample.requested)].add(watched_for(recording, sample),
                                               weight_of(recording, sample));
  }
  AgesBySize ages;
  for (std::size_t i = 0; i < ages.size(); ++i) ages[i] = lives[i].old_from();
  return ages;
}

}  // namespace geiger::profile
