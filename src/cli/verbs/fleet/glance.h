// What parts of a fleet have, at a glance: services, or versions of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/present/grid.h"
#include "analysis/profile/select/kind_rules.h"
#include "base/outcome.h"
#include "cli/options/fleet_options.h"
#include "estimation/estimate.h"
#include "fleet/store/store.h"

namespace geiger::cli {

/// Bytes of a part of a store.
struct Glance {
  estimation::Estimate bytes;  ///< As the total of `fleet top`.
  /// In equal steps of its time, per recorded hour of a host; of live memory per host.
  std::vector<estimation::Estimate> trend;
};

/// Fails as fleet::ask() does: also if nothing of it was recorded.
[[nodiscard]] base::Outcome<Glance> glance_at(fleet::Store& store, const fleet::Filter& filter,
                                              profile::Kind kind, double level);

/// The columns of it, and its cells.
void append_glance_columns(std::vector<present::Column>& columns);
void append_glance(std::vector<std::string>& cells, const Glance& glance,
                   const present::Style& style);

/// The services of a store, those with most bytes first: what `fleet top --by service` prints.
[[nodiscard]] base::Outcome<int> print_services(const FleetOptions& options);

}  // namespace geiger::cli
