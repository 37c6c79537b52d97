#include "analysis/advice/advice.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "analysis/advice/candidates.h"
#include "analysis/present/fields.h"
#include "analysis/present/measure.h"
#include "analysis/profile/lives/lifetimes.h"
#include "analysis/profile/memory/measured.h"
#include "analysis/profile/select/thinned.h"
#include "analysis/profile/select/totals.h"
#include "estimation/estimate.h"

namespace geiger::advice {

namespace {

using estimation::Estimate;
using estimation::Interval;
using profile::Recording;

/// A part of a whole; both have errors, and each its own interval.
present::Share ratio_of(const Estimate& part, const Estimate& whole) {
  if (!(whole.value > 0)) return {};
  const auto over = [](double a, double b) { return b > 0 ? std::min(1.0, a / b) : 1.0; };
  return {over(part.value, whole.value),
          {over(part.interval.lo, whole.interval.hi), over(part.interval.hi, whole.interval.lo)}};
}

class Judge {
 public:
  Judge(const Recording& recording, const Options& options, StackBook& stacks,
        Candidates& candidates)
      : recording_(recording),
        stacks_(stacks),
        candidates_(candidates),
        most_(profile::most_allocated(recording)) {
    findings_.options = options;
    findings_.not_looked_for = std::move(candidates.not_looked_for);
    findings_.looked_at = candidates.places.size();
    // Each interval, those of the wholes too, has an equal part of the chance to err.
    const double intervals =
        static_cast<double>(candidates.places.size() + candidates.wholes.size());
    findings_.level = 1 - estimation::alpha_of(options.level) / std::max(1.0, 2 * intervals);
    for (const auto& [of, whole] : candidates.wholes) {
      present::Measure measure = present::measure_total(whole.sums, findings_.level);
      if (whole.exact) {
        const auto bytes = static_cast<double>(*whole.exact);
        measure.bytes = {bytes, 0, {bytes, bytes}, measure.samples, bytes};
      }
      if (of != Of::kAllocated) end_at_allocated(measure.bytes);
      wholes_[of] = measure;
    }
  }

  Findings judge() {
    for (const Candidate& candidate : candidates_.places) add(candidate);
    std::ranges::stable_sort(findings_.items, [](const Item& a, const Item& b) {
      return std::tuple(rules_of(a.advice).of, -a.saved.bytes.interval.lo, a.name) <
             std::tuple(rules_of(b.advice).of, -b.saved.bytes.interval.lo, b.name);
    });
    for (const Advice advice : candidates_.looked_for) {
      if (std::ranges::find(findings_.items, advice, &Item::advice) == findings_.items.end()) {
        findings_.not_found.push_back(advice);
      }
    }
    return std::move(findings_);
  }

 private:
  void end_at_allocated(estimation::Estimate& live) const {
    live = present::ended_at(live, most_).value_or(live);
  }

  void add(const Candidate& candidate) {
    const Options& options = findings_.options;
    const present::Measure& whole = wholes_[rules_of(candidate.advice).of];
    // Most places are too small by far: the few others are looked at in full.
    const bool may_matter =
        candidate.saved.all_bytes() >= static_cast<double>(options.least_bytes) ||
        candidate.saved.all_objects() >= static_cast<double>(options.least_calls);
    // What was never touched is zero too.
    const bool is_said =
        candidate.advice == Advice::kBlank && untouched_.contains(place_of(candidate));
    if (!candidate.is_fit || !may_matter || is_said) return;
    Item item;
    item.advice = candidate.advice;
    item.saved = present::measure_row(candidate.saved, findings_.level);
    const Of of = rules_of(item.advice).of;
    // Of others it is not, or not only, bytes that were asked for.
    if (of == Of::kSnapshot || of == Of::kContent) {
      end_at_allocated(item.saved.bytes);
    }
    if (candidate.bytes && item.saved.bytes.value >= options.least_share * whole.bytes.value) {
      item.saved.bytes = candidate.bytes(findings_.level);
    }
    item.share = ratio_of(item.saved.bytes, whole.bytes);
    item.call_share = ratio_of(item.saved.objects, whole.objects);
    if (!is_worth(item)) return;
    if (candidate.growth != nullptr) {
      item.container = candidate.growth->container;
      item.remedy = candidate.growth->remedy;
    }
    const bool has_pools = std::ranges::any_of(candidate.samples, [&](std::uint32_t i) {
      return vocabulary::is_python_block(recording_.samples[i].entry_point);
    });
    if (!has_pools) {
      for (const std::uint32_t sample : candidate.samples) {
        const estimation::Count count = count_of_fate(recording_, recording_.samples[sample]);
        item.calls[count.size] += 1 / estimation::inclusion_probability(count);
      }
    }
    item.requested = candidate.requested;
    item.usable = candidate.usable;
    name(item, candidate.stacks);
    // What passes at the peak is freed anyway.
    const bool is_of_live = of != Of::kAllocated;
    if (is_of_live && item.advice != Advice::kPeak) item.lost = lost_of(candidate.stacks);
    if (item.advice == Advice::kUntouched) untouched_.insert(place_of(candidate));
    findings_.items.push_back(std::move(item));
  }

  [[nodiscard]] bool is_worth(const Item& item) const {
    const Options& options = findings_.options;
    const Interval& bytes = item.saved.bytes.interval;
    const Interval& calls = item.saved.objects.interval;
    const bool saves_bytes = item.share.interval.lo >= options.least_share &&
                             bytes.lo >= static_cast<double>(options.least_bytes);
    if (rules_of(item.advice).of != Of::kAllocated) return saves_bytes;
    const bool saves_calls = item.call_share.interval.lo >= options.least_share &&
                             calls.lo >= static_cast<double>(options.least_calls);
    // A block that is used a few times is the one that remains.
    constexpr double kOften = 100;
    const bool is_often = item.advice != Advice::kReuse || calls.lo >= kOften;
    return saves_calls || (saves_bytes && is_often);
  }

  [[nodiscard]] Lost lost_of(const Stacks& stacks) const {
    std::vector<std::uint32_t> judged, unreachable, listed;
    for (std::uint32_t i = 0; i < recording_.samples.size(); ++i) {
      const profile::Sample& sample = recording_.samples[i];
      if (sample.holder == profile::kNone || !stacks.contains(sample.stack)) continue;
      const profile::Hold hold = recording_.holders[sample.holder].hold;
      judged.push_back(i);
      if (profile::is_unreachable(hold)) unreachable.push_back(i);
      if (hold == profile::Hold::kListed) listed.push_back(i);
    }
    const auto is_most = [&](const std::vector<std::uint32_t>& part) {
      constexpr double kMost = 0.5;
      return present::share_of(profile::sums_of_samples(recording_, part),
                               profile::sums_of_samples(recording_, judged), findings_.level)
                 .interval.lo > kMost;
    };
    if (is_most(unreachable)) return Lost::kUnreachable;
    return is_most(listed) ? Lost::kListed : Lost::kNot;
  }

  [[nodiscard]] const Place& place_of(const Candidate& candidate) const {
    return stacks_[usual_stack(candidate.stacks)].place;
  }

  void name(Item& item, const Stacks& stacks) const {
    const StackFacts& facts = stacks_[usual_stack(stacks)];
    const profile::Label& label = stacks_.labels()[facts.place.label];
    item.name = label.name;
    if (label.module != profile::kNone) item.module = stacks_.labels().module_name(label.module);
    if (!facts.place.file.empty()) {
      item.where = {.file = std::string(facts.place.file), .line = facts.place.line};
    }
    item.callers = nearest_callers(stacks_.labels(), facts.callers);
    add_owner(item, stacks, facts.callers);
  }

  void add_owner(Item& item, const Stacks& stacks, const std::vector<std::uint32_t>& named) const {
    std::vector<std::vector<std::uint32_t>> functions;
    std::vector<profile::HeldSite> sites;
    double all = 0;
    for (const auto& [stack, held] : stacks) {
      functions.push_back(stacks_.own_callers(stack));
      sites.push_back(held);
      all += held.bytes;
    }
    constexpr double kMost = 0.5;
    double most = kMost * all;
    for (const profile::OwnerGroup& owner : profile::held_by(functions, sites).owners) {
      double bytes = 0;
      std::size_t count = 0;
      for (std::size_t i = 0; i < sites.size(); ++i) {
        if (std::ranges::find(functions[i], owner.function) == functions[i].end()) continue;
        bytes += sites[i].bytes;
        ++count;
      }
      if (bytes <= most) continue;
      most = bytes;
      const profile::Label& label = stacks_.labels()[owner.function];
      const bool is_said = std::ranges::find(named, owner.function) != named.end();
      item.owner = is_said || label.is_unnamed() ? "" : label.name;
      item.stacks = sites.size();
      item.owned_stacks = count;
    }
  }

  const Recording& recording_;
  StackBook& stacks_;
  Candidates& candidates_;
  const std::optional<Bytes> most_;
  std::map<Of, present::Measure> wholes_;
  std::set<Place> untouched_;  ///< Of items.
  Findings findings_;
};

}  // namespace

std::uint32_t usual_stack(const Stacks& stacks) {
  return std::ranges::max_element(stacks, {}, [](const auto& each) { return each.second.bytes; })
      ->first;
}

std::string_view name_of(Advice advice) {
  const auto index = static_cast<std::size_t>(advice);
  return index < kAdviceRules.size() ? kAdviceRules[index].name : std::string_view();
}

std::string_view name_of(Lost lost) {
  constexpr std::string_view kNames[] = {"", "unreachable", "listed"};
  return present::name_among(kNames, lost);
}

std::string_view name_of(Of of) {
  constexpr std::string_view kNames[] = {"allocated", "peak", "snapshot", "content"};
  return present::name_among(kNames, of);
}

namespace {

std::string_view label_name(StackBook& stacks, const Candidate& candidate) {
  return stacks.labels()[stacks[usual_stack(candidate.stacks)].place.label].name;
}

/// Fails if the recording cannot tell.
base::Outcome<Candidates> look(const Recording& recording, StackBook& stacks) {
  GEIGER_TRY(check_kind(recording, profile::Kind::kTemporary, profile::Moment::kLast));
  Candidates candidates;
  look_at_work(recording, stacks, candidates);
  look_at_peak(recording, stacks, candidates);
  look_at_snapshots(recording, stacks, candidates);
  look_at_contents(recording, stacks, candidates);
  return candidates;
}

}  // namespace

Findings find_advice(const Recording& recording, const Options& options) {
  StackBook stacks(recording);
  auto looked = look(recording, stacks);
  Candidates candidates;
  if (looked.has_value()) {
    candidates = std::move(looked.value());
  } else {
    for (const AdviceRules& rules : kAdviceRules) {
      candidates.leave_out(rules.advice, looked.reason());
    }
  }
  return Judge(recording, options, stacks, candidates).judge();
}

std::vector<present::Measure> savings_of(const Recording& recording, const std::vector<Item>& items,
                                         double level) {
  StackBook stacks(recording);
  auto looked = look(recording, stacks);
  const Candidates candidates = looked.has_value() ? std::move(looked.value()) : Candidates{};
  std::vector<present::Measure> savings;
  for (const Item& item : items) {
    estimation::NodeSums sums;
    const Candidate* largest = nullptr;
    for (const Candidate& each : candidates.places) {
      if (each.advice != item.advice || label_name(stacks, each) != item.name) continue;
      sums.merge(each.saved);
      if (largest == nullptr || each.saved.all_bytes() > largest->saved.all_bytes()) {
        largest = &each;
      }
    }
    const auto whole = candidates.wholes.find(rules_of(item.advice).of);
    if (whole != candidates.wholes.end()) sums.could_have_sampled(whole->second.sums);
    savings.push_back(present::measure_total(sums, level));
    if (largest != nullptr && largest->bytes) savings.back().bytes = largest->bytes(level);
  }
  return savings;
}

}  // namespace geiger::advice
