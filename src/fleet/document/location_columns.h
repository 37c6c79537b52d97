// Locations as columns of a document: over a table of their texts, since names repeat.
#pragma once

#include <string>

#include "base/outcome.h"
#include "fleet/document/columns.h"
#include "fleet/document/document.h"

namespace geiger::fleet {

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

}  // namespace geiger::fleet
