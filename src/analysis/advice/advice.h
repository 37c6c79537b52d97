// What to change in a program, and what that saves: places whose samples show waste.
//
// Each question is asked of every place that has a sample which counts for it. A place is named
// only if the lower limit of its saving is above a bound; that limit allows for all places looked
// at, so the bound on the probability of any wrong name in the list is stated
// (docs/internals/estimators.md, Advice).
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/advice/growth.h"
#include "analysis/present/whole_sums.h"
#include "analysis/profile/frames/labels.h"
#include "analysis/profile/recording/recording.h"
#include "base/units.h"

namespace geiger::advice {

enum class Advice : std::uint8_t {
  kReserve,
  kReuse,
  kPeak,
  kUntouched,
  kBlank,
  kDuplicate,
  kPool,
  kRounding
};

/// What a saving is a part of.
enum class Of : std::uint8_t {
  kAllocated,  ///< All that was allocated: work, not memory.
  kPeak,       ///< What was live at the peak.
  kSnapshot,   ///< What was live when the largest resident set was read.
  kContent,    ///< What was live when the content of objects was read, at the largest resident set.
};

/// What is the same for all advice of a kind.
struct AdviceRules {
  Advice advice;
  Of of;
  std::string_view name;   ///< In documents: "reserve".
  std::string_view waste;  ///< "growth by copying".
};

inline constexpr std::array<AdviceRules, 8> kAdviceRules{{
    {Advice::kReserve, Of::kAllocated, "reserve", "growth by copying"},
    {Advice::kReuse, Of::kAllocated, "reuse", "short-lived blocks"},
    {Advice::kPeak, Of::kPeak, "peak", "short-lived objects at the peak"},
    {Advice::kUntouched, Of::kSnapshot, "untouched", "memory that is never touched"},
    {Advice::kBlank, Of::kContent, "blank", "objects that are wholly zero"},
    {Advice::kDuplicate, Of::kContent, "duplicate", "objects with equal content"},
    {Advice::kPool, Of::kPeak, "pool", "small objects that die together"},
    {Advice::kRounding, Of::kPeak, "rounding", "sizes that are rounded up"},
}};

[[nodiscard]] constexpr const AdviceRules& rules_of(Advice advice) {
  return kAdviceRules[static_cast<std::size_t>(advice)];
}

/// The name in JSON documents; empty if the value is not one of the enumerators.
[[nodiscard]] std::string_view name_of(Advice advice);
[[nodiscard]] std::string_view name_of(Of of);

struct Options {
  double level = 0.95;  ///< That all intervals of the list hold together; in (0, 1).
  /// A saving is named if it is surely at least both: this share of its whole, and these bytes.
  double least_share = 0.05;
  Bytes least_bytes = kMiB;
  /// Or, of Of::kAllocated, this share of the allocations and at least this many of them.
  std::uint64_t least_calls = 100'000;
};

/// What was found of the objects of a place when what holds memory was looked for.
enum class Lost : std::uint8_t {
  kNot,          ///< Or not known.
  kUnreachable,  ///< Most of them surely are.
  kListed,       ///< Only CPython's collector lists most of them.
};

/// "", "unreachable", "listed".
[[nodiscard]] std::string_view name_of(Lost lost);

/// One place, and what it would save.
struct Item {
  Advice advice = Advice::kReserve;
  std::string name;    ///< The function, as demangled.
  std::string module;  ///< Its file's name.
  profile::SourceLine where;
  std::string callers;  ///< "b < c"; may be empty.
  /// The function of own code that most of it comes from, where several stacks lead to the place.
  /// Empty if no function has most, or if it is one of `callers`.
  std::string owner;
  std::size_t stacks = 0, owned_stacks = 0;  ///< With samples; those that the owner is in.
  std::string_view container;                ///< Of kReserve: "vector".
  std::string_view remedy;                   ///< Of kReserve: "call reserve() before it is filled".
  /// Of kPool and kRounding: the requested and usable size that most of it has.
  Bytes requested = 0, usable = 0;
  /// Of Of::kAllocated: number by requested bytes, estimated; empty if some of them are not
  /// malloc's but of CPython's own pools.
  std::map<Bytes, double> calls;
  Lost lost = Lost::kNot;     ///< Of live memory: it should be freed, whatever else it wastes.
  present::Measure saved;     ///< Bytes and allocations (of memory: objects), at Findings::level.
  present::Share share;       ///< Of the bytes of the whole.
  present::Share call_share;  ///< Of the allocations of the whole; of Of::kAllocated.
};

/// What could not be looked for, or not everywhere.
struct NotLooked {
  std::string waste;
  std::string reason;  ///< And what to do, a clause.
};

struct Findings {
  Options options;
  double level = 0;             ///< Of each single interval.
  std::uint64_t looked_at = 0;  ///< Places, each counted once for every question.
  std::vector<Item> items;      ///< By Of, then what is surely saved, the most first.
  std::vector<Advice> not_found;
  std::vector<NotLooked> not_looked_for;
};

/// Looks for everything that the recording can tell.
[[nodiscard]] Findings find_advice(const profile::Recording& recording, const Options& options);

/// What the functions of `items` would still save of the same kind in another recording, one for
/// each item; of all their lines, as lines move. Each interval is one of `level`.
[[nodiscard]] std::vector<present::Measure> savings_of(const profile::Recording& recording,
                                                       const std::vector<Item>& items,
                                                       double level);

}  // namespace geiger::advice
