// Makes documents of a recording.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "analysis/profile/recording/recording.h"
#include "analysis/profile/select/profile.h"
#include "base/outcome.h"
#include "fleet/document/document.h"

namespace geiger::fleet {

/// The step of the grid on which windows begin, in seconds.
inline constexpr std::int64_t kGrid = 600;

/// Facts that recordings do not contain.
struct Origin {
  std::string service, version, host;
  std::map<std::string, std::string> labels;
};

/// A process without documents, because they would not be valid: the trace is damaged, or contains
/// more than a store takes.
struct LeftOut {
  std::uint32_t process = 0;
  std::string reason;  ///< A clause.
};

struct CutRecording {
  std::vector<Document> documents;  ///< Valid ones (document.h).
  std::vector<LeftOut> left_out;
};

/// The documents of all processes of a recording whose stacks were not trimmed: one per process and
/// window of the grid. An aggregated process has no instants and becomes one document, in the
/// window in which it began. A document with too many rows keeps those with most bytes; the samples
/// of the others go to the stack kUntoldStacks, so that totals do not change. Fails for profiles of
/// other programs, which have no exact counts.
[[nodiscard]] base::Outcome<CutRecording> cut(const profile::Recording& recording,
                                              const Origin& origin);

// Shared by the ways of making documents: stacks with their ids, rows of counts, the facts of a
// window.

/// The stacks of a recording with the ids that they have on every host.
class SharedStacks {
 public:
  /// The recording must outlive this object and not change.
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

/// The key of a row: stack, size, interval, thinning, certainty.
using RowKey = std::tuple<StackId, Bytes, Bytes, std::uint32_t, bool>;
struct RowNumbers {
  std::uint64_t allocated = 0, live = 0;
};
using Rows = std::map<RowKey, RowNumbers>;

/// Adds the allocated and the live samples of two selections of one process.
void add_rows(Rows& rows, const profile::Recording& recording, const SharedStacks& stacks,
              const profile::Selection& selection, std::uint32_t thinning);
/// All samples of a process's own heap, of one kind.
[[nodiscard]] profile::Selection all_of(std::uint32_t process, profile::Kind kind);

/// Sets the rows of a document and their stacks. If there are too many rows, those with fewest
/// bytes move to kUntoldStacks.
void add_counts(Document& document, Rows rows, const SharedStacks& stacks);

/// The facts of a window that depend on its process only: everything but its times, totals and
/// sequence.
[[nodiscard]] Window window_of(const profile::Recording& recording, std::uint32_t process,
                               const Origin& origin);

}  // namespace geiger::fleet
