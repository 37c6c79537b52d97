// Types of a document's columns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/outcome.h"
#include "fleet/document/document.h"

namespace geiger::fleet {

using Numbers = std::vector<std::uint64_t>;
/// Of each number from the one before it, or from another that the reader has: mostly small.
using Differences = std::vector<std::int64_t>;

/// Of any column: steps of stacks are locations and ends.
inline constexpr std::size_t kMostNumbers = kMostPositions + kMostStacks;

// Locations as columns of a document: over a table of their texts, since names repeat.

struct LocationColumns {
  std::string texts;  ///< All that differ, each with a NUL after it, in order of their use.

  // Of each module, the last two by their text.
  Numbers kinds;
  Differences paths, build_ids;
  // Of each location. Addresses and lines are differences within a module.
  Differences modules, addresses;
  Numbers frames;
  // Of each frame of each location, names by their text.
  Differences functions, system_names, files, lines;
};

[[nodiscard]] LocationColumns columns_of(const std::vector<Location>& locations);

/// Adds the locations to a document. The columns may be anything: fails, with a clause, if they are
/// not those of locations, or of too many.
[[nodiscard]] base::Outcome<void> add_locations(const LocationColumns& columns, Document& document);

// Stacks as columns of a document.
//
// Each stack is what it shares with the stack before it, from the root on, and steps from caller to
// callee until its end.

struct StackColumns {
  Numbers left;        ///< Locations of the stack before that are not shared.
  Numbers truncated;   ///< 0 or 1.
  Numbers steps;       ///< Codes of Followers, the ends of stacks included.
  Differences others;  ///< Of each step with code 0: of its place from its caller's.
};

/// The document has the locations of its stacks.
[[nodiscard]] StackColumns columns_of_stacks(const Document& document);

/// Adds the stacks to a document, which has the locations. The columns may be anything: fails, with
/// a clause, if they are not those of stacks, or of too many.
[[nodiscard]] base::Outcome<void> add_stacks(const StackColumns& columns, Document& document);

}  // namespace geiger::fleet
