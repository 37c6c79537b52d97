// The samples of the profiles of a page, before anything is bounded: each with its node in the call
// tree and every property that the page distinguishes.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/page/call_tree.h"
#include "analysis/page/names.h"
#include "analysis/page/span.h"
#include "analysis/profile/frames/types.h"
#include "analysis/profile/profile.h"
#include "estimation/counts.h"

namespace geiger::page {

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
  /// are known, which stand for the others (profile/thinned.h). Requires can_tell_times().
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
