// Stacks as columns of a document.
//
// Each stack is what it shares with the stack before it, from the root on, and steps from caller to
// callee until its end.
#pragma once

#include "base/outcome.h"
#include "fleet/document/columns.h"
#include "fleet/document/document.h"

namespace geiger::fleet {

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
