// Samples that are live across segments of a process image: the one place that decides which sample
// a checkpoint's record continues, and whose frees are recorded after thinning.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/units.h"
#include "trace/format.h"

namespace geiger::trace {

/// Which samples' frees are recorded, by the ThinningRecords so far.
struct Thinning {
  static constexpr std::uint32_t kMost = 64;  ///< Nothing is kept.

  std::uint64_t seed = 0;   ///< The header's.
  std::uint32_t level = 0;  ///< 0: all are kept.

  void add(const ThinningRecord& record) { level = std::max(level, std::min(record.level, kMost)); }
  [[nodiscard]] bool keeps(Nanoseconds time, Address address) const {
    if (level == 0) return true;
    SampleRecord sample{};
    sample.time = time;
    sample.address = address;
    return is_kept(chance_of(seed, sample), level);
  }
};

/// Samples that were live when a segment ended, each with the reader's own data (Place). Those that
/// the next segment's checkpoint does not carry ended in between, unless a later segment carries
/// them: its writer took longer than the segments in between.
template <class Place>
class Survivors {
 public:
  /// `ref`: its record in the previous segment, 0 if it has none there.
  void add(Ref ref, Nanoseconds time, Address address, Place place) {
    found_.push_back({ref, time, address, std::move(place), false});
    is_sorted_ = false;
  }

  /// Takes the sample that a record carries; nothing if it is not among them. References are used
  /// only if the segment `is_next` (no segment is missing in between), and only if time and address
  /// match: damage must not join different samples.
  [[nodiscard]] std::optional<Place> take(const CarriedRecord& carried, bool is_next) {
    sort();
    Survivor* survivor = is_next ? by_reference(carried) : nullptr;
    if (survivor == nullptr) survivor = by_birth(carried);
    if (survivor == nullptr) return std::nullopt;
    survivor->is_taken = true;
    return survivor->place;
  }

  /// Calls visit(place, time, address) with those that were not taken.
  template <class Visit>
  void for_each_left(const Visit& visit) const {
    for (const Survivor& survivor : found_) {
      if (!survivor.is_taken) visit(survivor.place, survivor.time, survivor.address);
    }
  }

 private:
  struct Survivor {
    Ref ref;
    Nanoseconds time;
    Address address;
    Place place;
    bool is_taken;

    [[nodiscard]] bool is(const CarriedRecord& carried) const {
      return !is_taken && time == carried.sample.time && address == carried.sample.address;
    }
  };

  void sort() {
    if (is_sorted_) return;
    std::ranges::sort(found_, {}, &Survivor::ref);
    births_.clear();
    is_sorted_ = true;
  }

  Survivor* by_reference(const CarriedRecord& carried) {
    if (carried.previous == 0) return nullptr;
    const auto at = std::ranges::lower_bound(found_, carried.previous, {}, &Survivor::ref);
    const bool is_same = at != found_.end() && at->ref == carried.previous && at->is(carried);
    return is_same ? &*at : nullptr;
  }

  /// No two live samples have the same address; the time distinguishes samples that had it one
  /// after the other.
  Survivor* by_birth(const CarriedRecord& carried) {
    if (births_.empty()) index_births();
    const Birth birth(carried.sample.address, carried.sample.time);
    const auto birth_at = [&](std::uint32_t index) { return birth_of(found_[index]); };
    auto at = std::ranges::lower_bound(births_, birth, {}, birth_at);
    for (; at != births_.end() && birth_at(*at) == birth; ++at) {
      if (found_[*at].is(carried)) return &found_[*at];
    }
    return nullptr;
  }

  using Birth = std::pair<Address, Nanoseconds>;
  static Birth birth_of(const Survivor& survivor) { return {survivor.address, survivor.time}; }

  void index_births() {
    births_.resize(found_.size());
    for (std::uint32_t i = 0; i < births_.size(); ++i) births_[i] = i;
    std::ranges::sort(births_, {}, [&](std::uint32_t index) { return birth_of(found_[index]); });
  }

  std::vector<Survivor> found_;        ///< By reference, once sorted.
  std::vector<std::uint32_t> births_;  ///< Indexes of found_ by birth; empty until one is wanted.
  bool is_sorted_ = true;
};

}  // namespace geiger::trace
