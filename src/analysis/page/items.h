// The profiles that a page offers: their kinds, the stretch of time, and their samples before
// anything is bounded.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/page/call_tree.h"
#include "analysis/profile/frames/types.h"
#include "analysis/profile/recording/recording.h"
#include "analysis/profile/select/profile.h"
#include "base/units.h"
#include "estimation/counts.h"

namespace geiger::page {

// The stretch of time that a page shows, and its division into buckets.

/// CLOCK_MONOTONIC; `to` excluded.
struct Span {
  Nanoseconds from = 0, to = 0;
};

/// Buckets of equal length, the last one maybe shorter.
class Buckets {
 public:
  /// At most `most` >= 1 buckets, at least one.
  Buckets(const Span& span, std::size_t most)
      : span_(span),
        length_(std::max<Nanoseconds>((length_of(span) + most - 1) / most, 1)),
        count_(static_cast<std::int32_t>((length_of(span) + length_ - 1) / length_)) {}

  [[nodiscard]] std::int32_t count() const { return count_; }
  [[nodiscard]] const Span& span() const { return span_; }
  /// The bucket of an instant; instants outside count for the first and the last.
  [[nodiscard]] std::int32_t of(Nanoseconds time) const {
    const Nanoseconds after = time - std::min(time, span_.from);
    return static_cast<std::int32_t>(
        std::min<Nanoseconds>(after / length_, static_cast<Nanoseconds>(count_ - 1)));
  }
  /// Starts of all buckets and the end of the last, after `origin`.
  [[nodiscard]] std::vector<Nanoseconds> edges(Nanoseconds origin) const {
    std::vector<Nanoseconds> edges;
    for (std::int32_t i = 0; i < count_; ++i) {
      edges.push_back(span_.from - origin + length_ * static_cast<Nanoseconds>(i));
    }
    edges.push_back(std::max(span_.to, span_.from + 1) - origin);
    return edges;
  }

 private:
  static Nanoseconds length_of(const Span& span) {
    return span.to > span.from ? span.to - span.from : 1;
  }

  Span span_;
  Nanoseconds length_;
  std::int32_t count_;
};

// The kinds of profiles as a page offers them.

/// In the order of the page's switch.
inline constexpr std::array kKinds{
    profile::Kind::kAllocated, profile::Kind::kLiveAtEnd,    profile::Kind::kLiveAtPeak,
    profile::Kind::kResident,  profile::Kind::kSwapped,      profile::Kind::kUntouched,
    profile::Kind::kStranded,  profile::Kind::kZero,         profile::Kind::kWhollyZero,
    profile::Kind::kDuplicate, profile::Kind::kLiveOverhead, profile::Kind::kOverhead,
    profile::Kind::kMapped,    profile::Kind::kMappedAtPeak, profile::Kind::kMappedTotal,
    profile::Kind::kReserved,  profile::Kind::kMappedFiles};

/// The name of a kind, and its meaning in a sentence. `is_followed`: the end is now (PageOptions).
[[nodiscard]] std::string title_of(profile::Kind kind, bool is_followed);
[[nodiscard]] std::string_view about(profile::Kind kind, bool is_followed);
/// kKinds as a page has them.
[[nodiscard]] std::vector<profile::Kind> kinds_in_order(bool is_followed);

/// Why this recording has no data for `selection` of its kind; empty if it has.
[[nodiscard]] std::string why_unavailable(const profile::Recording& recording,
                                          const profile::Selection& selection);

// The samples of the profiles of a page, before anything is bounded: each with its node in the call
// tree and every property that the page distinguishes.

/// An instant that does not come.
inline constexpr Nanoseconds kNever = ~Nanoseconds{0};

/// What one object adds to sums depends on.
struct Shape {
  estimation::Count count;  ///< Of one.
  bool is_open = false;     ///< Its bytes are not known, but at most these (estimation/sums.h).
  friend bool operator==(const Shape&, const Shape&) = default;
};

/// Samples alike, or one.
struct Item {
  std::uint32_t node = 0;   ///< Of the call tree.
  std::uint32_t shape = 0;  ///< Into Items::shapes.
  NameIndex process = kNoName, thread = kNoName, type = kNoName, label = kNoName;
  Nanoseconds born = 0;       ///< CLOCK_MONOTONIC; before the span: not seen.
  Nanoseconds died = kNever;  ///< When it was freed, or its process ended before the span.
  std::uint64_t count = 1;
};

/// What one table of cells is made from.
struct Items {
  std::vector<Shape> shapes;
  std::vector<Item> items;
  bool has_times = false;  ///< `born` and `died` mean something.
  bool has_processes = false, has_threads = false, has_types = false, has_labels = false;
};

/// Gathers items of one recording for one page.
class Gathering {
 public:
  Gathering(const profile::Recording& recording, CallTree& tree, Names& names, bool tells_lines);

  /// Whether it is known when the samples were allocated and freed, whatever their kind.
  [[nodiscard]] bool can_tell_times(const profile::Selection& selection) const;

  /// All samples that lived in `span`, with their times; if `is_of_fates`, only those whose fates
  /// are known, which stand for the others (select/thinned.h). Requires can_tell_times().
  [[nodiscard]] Items with_times(const profile::Selection& selection, const Span& span,
                                 bool is_of_fates);

  /// The node of the call tree that a stack ends in.
  [[nodiscard]] std::uint32_t node_of(std::uint32_t stack) { return nodes_.of(stack); }

  /// The entries of a profile, and what has no answer in it.
  [[nodiscard]] Items of(const profile::Profile& profile);

  /// Of objects whose type is not known.
  [[nodiscard]] NameIndex unknown_type() const { return type_names_[profile::Types::kUnknown]; }
  /// Each name of a thread that had another one, with each of both.
  [[nodiscard]] const std::vector<MayBe>& may_be() const { return may_be_; }

 private:
  class Shapes;
  /// Of a sample or an entry.
  template <typename Of>
  Item item_of(const Of& of);
  void add_entries(Items& items, Shapes& shapes, const profile::Profile& profile, bool is_open);

  const profile::Recording& recording_;
  StackNodes nodes_;
  const profile::Types types_;
  std::vector<NameIndex> processes_, type_names_, labels_;
  std::vector<NameIndex> threads_;  ///< The last: of none.
  std::vector<MayBe> may_be_;
};

}  // namespace geiger::page
