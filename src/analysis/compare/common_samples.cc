#include "analysis/compare/common_samples.h"

#include <algorithm>
#include <cstddef>
#include <tuple>
#include <unordered_map>

#include "base/check.h"

namespace geiger::compare {
namespace {

using profile::kNone;
using profile::Profile;
using profile::Sample;

/// A sample with its identity in both recordings.
struct Identified {
  std::uint32_t image = kNone;  ///< Into CommonImages; kNone: the other recording has none of it.
  const Sample* sample = nullptr;
  bool is_open = false;  ///< The selection cannot decide about it.
  bool is_common = false;

  [[nodiscard]] auto identity() const {
    return std::tuple(image, sample->time, sample->address, sample->requested);
  }
};

/// The samples that are selected, in order of their identities.
std::vector<Identified> identified(const profile::Chosen& chosen,
                                   const std::unordered_map<std::uint32_t, std::uint32_t>& images) {
  std::vector<Identified> all;
  all.reserve(chosen.samples.size() + chosen.open.size());
  for (const bool is_open : {false, true}) {
    for (const Sample* sample : is_open ? chosen.open : chosen.samples) {
      const auto image = images.find(sample->process);
      all.push_back({image == images.end() ? kNone : image->second, sample, is_open});
    }
  }
  std::ranges::sort(all, {}, &Identified::identity);
  return all;
}

void mark_common(std::vector<Identified>& before, std::vector<Identified>& after) {
  auto a = before.begin();
  for (auto b = after.begin(); b != after.end() && b->image != kNone; ++b) {
    a = std::find_if(a, before.end(),
                     [&](const Identified& each) { return each.identity() >= b->identity(); });
    if (a == before.end()) return;
    if (a->identity() != b->identity()) continue;
    a->is_common = b->is_common = true;
    ++a;
  }
}

Profile moved_of(const Selected& side, const profile::Chosen& chosen,
                 const std::vector<Identified>& samples) {
  Profile moved = with_entries(side.profile, {});
  for (const Identified& each : samples) {
    if (each.is_common) continue;
    (each.is_open ? moved.open : moved.entries).push_back(entry_of(side.recording, *each.sample));
  }
  const auto add_tallies = [&](const auto& tallies, std::vector<profile::Entry>& entries) {
    for (const profile::Tally* tally : tallies) {
      entries.push_back(
          entry_of(side.recording, tally->alike, count_of(*tally, side.profile.kind)));
    }
  };
  add_tallies(chosen.tallies, moved.entries);
  add_tallies(chosen.open_tallies, moved.open);
  return moved;
}

}  // namespace

std::optional<Moved> moved_between(const Selected& before, const Selected& after,
                                   const CommonImages& images) {
  const bool is_of_objects =
      profile::rules_of(before.profile.kind).about == profile::About::kObjects;
  const bool is_split = before.profile.rate_factor < 1 || after.profile.rate_factor < 1;
  if (images.empty() || !is_of_objects || is_split) return std::nullopt;
  std::unordered_map<std::uint32_t, std::uint32_t> of_before, of_after;
  for (std::uint32_t i = 0; i < images.size(); ++i) {
    const auto& [a, b] = images[i];
    GEIGER_CHECK(before.recording.processes[a].thinning == after.recording.processes[b].thinning);
    of_before[a] = of_after[b] = i;
  }
  const profile::Chosen chosen_before = choose(before.recording, before.selection);
  const profile::Chosen chosen_after = choose(after.recording, after.selection);
  std::vector<Identified> a = identified(chosen_before, of_before);
  std::vector<Identified> b = identified(chosen_after, of_after);
  mark_common(a, b);
  return Moved{moved_of(before, chosen_before, a), moved_of(after, chosen_after, b)};
}

}  // namespace geiger::compare
