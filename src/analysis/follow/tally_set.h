// Samples counted into the tallies of a recording: those alike in all that reports distinguish
// are one, so what is kept grows with the variety of samples and not with their number.
#pragma once

#include <tsl/robin_set.h>

#include <cstdint>
#include <functional>

#include "analysis/profile/recording.h"

namespace geiger::follow {

class TallySet {
 public:
  /// Of `recording.tallies`, which nothing else adds to. The recording must outlive it.
  explicit TallySet(profile::Recording& recording);

  /// The index of the tally for samples like this one, new ones with counts of 0. Unlike
  /// tallies of a runtime they distinguish threads.
  [[nodiscard]] std::uint32_t find(const profile::Sample& sample, bool is_tracked);

 private:
  using Tallies = std::reference_wrapper<const std::vector<profile::Tally>>;
  struct Hash {
    Tallies tallies;
    std::size_t operator()(std::uint32_t index) const;
  };
  struct Same {
    Tallies tallies;
    bool operator()(std::uint32_t a, std::uint32_t b) const;
  };

  std::vector<profile::Tally>& tallies_;
  tsl::robin_set<std::uint32_t, Hash, Same, std::allocator<std::uint32_t>, true> known_;
};

}  // namespace geiger::follow
