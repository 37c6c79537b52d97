#include "research/recorded_designs.h"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "analysis/profile/recording/recording.h"
#include "analysis/profile/select/peak.h"

namespace geiger::research {
namespace {

/// Samples of one stack and one interval, as a profile keeps them that knows no sizes.
struct Bucket {
  std::uint64_t samples = 0;
  double bytes = 0;
};

/// So that what is drawn again here has nothing to do with what peak.h draws.
constexpr std::uint64_t kDesignSalt = 0xd6a5;

/// Random bits that belong to a sample: every reading of a recording draws alike.
std::uint64_t design_bits(const profile::Recording& recording, const profile::Sample& sample) {
  const auto& samples = recording.samples_beside(sample.heap);
  const auto position = static_cast<std::uint64_t>(&sample - samples.data());
  return profile::spread(profile::spread(kDesignSalt, recording.processes[sample.process].seed),
                         position);
}

std::optional<Bytes> only_interval(const profile::Recording& recording) {
  if (recording.epochs.empty()) return std::nullopt;
  const Bytes first = recording.epochs.front().interval;
  const bool is_only = std::ranges::all_of(
      recording.epochs, [first](const profile::Epoch& epoch) { return epoch.interval == first; });
  return is_only ? std::optional(first) : std::nullopt;
}

class DesignCollector {
 public:
  explicit DesignCollector(const profile::Recording& recording) : recording_(recording) {
    for (const profile::Epoch& epoch : recording.epochs) {
      found_.sums.could_have_sampled(static_cast<double>(epoch.interval));
    }
    found_.interval = only_interval(recording);
  }

  void add(const profile::Sample& sample) {
    if (sample.requested == 0) return;  // The other designs have nothing to draw of it.
    if (profile::is_surely_sampled(recording_, sample)) {
      found_.sums.add_certain(sample.requested);
      found_.designs.add_certain(sample.requested, sample.usable);
      return;
    }
    const profile::Epoch& epoch = recording_.epochs[sample.epoch];
    found_.sums.add(sample.requested, epoch.lambda);
    add_drawn(sample, epoch.interval);
  }

  [[nodiscard]] Designs finish() {
    found_.by_average_size = {found_.designs.certain_bytes, found_.designs.certain_objects};
    for (const auto& [key, bucket] : buckets_) {
      const auto scaled =
          scale_by_average_size(bucket.samples, bucket.bytes,
                                static_cast<double>(recording_.epochs[key.second].interval));
      if (!scaled.has_value()) continue;
      found_.by_average_size.bytes += scaled.value().bytes;
      found_.by_average_size.objects += scaled.value().objects;
    }
    return found_;
  }

 private:
  void add_drawn(const profile::Sample& sample, Bytes interval) {
    const auto drawn = Drawn::make(sample.requested, sample.offset, static_cast<double>(interval));
    if (!drawn.has_value()) {
      ++found_.impossible;
      return;
    }
    found_.designs.add(drawn.value(), sample.usable, design_bits(recording_, sample));
    Bucket& bucket = buckets_[{sample.stack, sample.epoch}];
    ++bucket.samples;
    bucket.bytes += static_cast<double>(sample.requested);
  }

  const profile::Recording& recording_;
  Designs found_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Bucket> buckets_;
};

}  // namespace

Designs designs_of(const profile::Recording& recording, const profile::Chosen& chosen,
                   std::optional<std::uint32_t> stack) {
  DesignCollector collector(recording);
  for (const profile::Sample* sample : chosen.samples) {
    if (!stack || sample->stack == *stack) collector.add(*sample);
  }
  return collector.finish();
}

Designs designs_of(const profile::Recording& recording) {
  return designs_of(recording, profile::choose(recording, {}));
}

std::vector<SizeSamples> most_sampled_sizes(const profile::Recording& recording,
                                            const profile::Chosen& chosen, std::size_t most) {
  std::map<std::pair<Bytes, std::uint32_t>, std::uint64_t> counts;
  for (const profile::Sample* sample : chosen.samples) {
    if (sample->requested == 0 || profile::is_surely_sampled(recording, *sample)) continue;
    ++counts[{sample->requested, sample->epoch}];
  }
  std::vector<SizeSamples> sizes;
  sizes.reserve(counts.size());
  for (const auto& [key, count] : counts) sizes.push_back({key.first, key.second, count});
  // Stable: the map has them by size.
  std::ranges::stable_sort(sizes, std::greater<>(), &SizeSamples::samples);
  if (sizes.size() > most) sizes.resize(most);
  return sizes;
}

}  // namespace geiger::research
