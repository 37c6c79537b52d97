// Places that may be worth advice, before it is known how sure their savings have to be. Inside of
// the room.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/advice/advice.h"
#include "analysis/advice/growth.h"
#include "analysis/profile/lives/owners.h"
#include "analysis/profile/recording/recording.h"
#include "estimation/estimate.h"
#include "estimation/sums.h"

namespace geiger::advice {

/// What the stacks of a place hold, by stack.
using Stacks = std::map<std::uint32_t, profile::HeldSite>;

inline void add_to(Stacks& stacks, std::uint32_t stack, double bytes) {
  profile::HeldSite& held = stacks[stack];
  held.samples += 1;
  held.bytes += bytes;
}

/// The one with most bytes. Requires one.
[[nodiscard]] std::uint32_t usual_stack(const Stacks& stacks);

/// A place with at least one sample that counts for a question.
struct Candidate {
  Advice advice = Advice::kReserve;
  Stacks stacks;  ///< The usual one names the place.
  estimation::NodeSums saved;
  /// It has what the advice is for: nearly all of the place's bytes are of that sort.
  bool is_fit = true;
  const GrowthRule* growth = nullptr;
  Bytes requested = 0, usable = 0;          ///< As of Item.
  std::vector<std::uint32_t> samples = {};  ///< Of Of::kAllocated.
  /// The saving at a level, where it is not the bytes of `saved`.
  std::function<estimation::Estimate(double level)> bytes = {};
};

/// What savings are parts of.
struct WholeOf {
  estimation::NodeSums sums;
  std::optional<Bytes> exact = {};  ///< Where the bytes are known exactly.
};

struct Candidates {
  std::vector<Candidate> places;
  std::map<Of, WholeOf> wholes;
  std::vector<Advice> looked_for;
  std::vector<NotLooked> not_looked_for;

  void leave_out(Advice advice, std::string reason) {
    not_looked_for.push_back({std::string(rules_of(advice).waste), std::move(reason)});
  }
};

/// Nearly all: a place's share of bytes that makes it fit.
inline constexpr double kNearlyAll = 0.9;

/// kReserve and kReuse: what was allocated and freed at once.
void look_at_work(const profile::Recording& recording, StackBook& stacks, Candidates& out);
/// kPool, kRounding and kPeak: the heap when it was largest.
void look_at_peak(const profile::Recording& recording, StackBook& stacks, Candidates& out);
/// kUntouched: the memory as it was read from outside.
void look_at_snapshots(const profile::Recording& recording, StackBook& stacks, Candidates& out);
/// kBlank and kDuplicate: what objects contain, where that was read.
void look_at_contents(const profile::Recording& recording, StackBook& stacks, Candidates& out);

}  // namespace geiger::advice
