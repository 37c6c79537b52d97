// What is common to the ways of making documents: stacks with their ids, rows of counts, the facts
// of a window.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "analysis/profile/profile.h"
#include "fleet/document/cut.h"

namespace geiger::fleet {

/// The stacks of a recording with the ids that they have on every host.
class SharedStacks {
 public:
  /// The recording must outlive it, and not change.
  explicit SharedStacks(const profile::Recording& recording);

  [[nodiscard]] StackId id(std::uint32_t stack) const {
    return stack == profile::kNone ? stacks_[recording_.stacks.size()].id : stacks_[stack].id;
  }
  [[nodiscard]] StackId untold() const { return stacks_.back().id; }

  /// Adds the stacks that its rows have, and their locations, each once.
  void add_to(Document& document) const;

 private:
  [[nodiscard]] Location of(const profile::Location& location) const;

  const profile::Recording& recording_;
  std::vector<Location> locations_;
  std::vector<Stack> stacks_;
  std::map<LocationId, std::uint32_t> places_;
};

/// Of a row, without its numbers: stack, size, interval, thinning, whether it is certain.
using RowKey = std::tuple<StackId, Bytes, Bytes, std::uint32_t, bool>;
struct RowNumbers {
  std::uint64_t allocated = 0, live = 0;
};
using Rows = std::map<RowKey, RowNumbers>;

/// Adds what was allocated and what lived, of selections of these kinds in one process.
void add_rows(Rows& rows, const profile::Recording& recording, const SharedStacks& stacks,
              const profile::Selection& selection, std::uint32_t thinning);
/// All samples of a process's own heap, of one kind.
[[nodiscard]] profile::Selection all_of(std::uint32_t process, profile::Kind kind);

/// Gives a document rows and the stacks that they have. Rows with fewest bytes move to the stack
/// that stands for all that is not told apart, if there are too many.
void add_counts(Document& document, Rows rows, const SharedStacks& stacks);

/// What a window has of its process, whenever it is: all but its times, totals and sequence.
[[nodiscard]] Window window_of(const profile::Recording& recording, std::uint32_t process,
                               const Origin& origin);

}  // namespace geiger::fleet
