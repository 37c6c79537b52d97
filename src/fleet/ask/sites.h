// Names of stacks for readers that only have SQL, such as Grafana.
#pragma once

#include <cstdint>

#include "base/outcome.h"
#include "fleet/store/store.h"

namespace geiger::fleet {

/// Writes the sites of all stacks that have none yet, or that lacked names; how many it wrote.
/// The function to blame is the one that reports blame, by the rules that are built in; names are
/// those of releases: without what compilers append.
[[nodiscard]] base::Outcome<std::uint64_t> write_sites(Store& store);

}  // namespace geiger::fleet
