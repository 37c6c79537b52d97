// Rows of a table at their source lines, for what shows notes there.
#pragma once

#include <string>

#include "analysis/report/profiles/table.h"

namespace geiger::report {

/// A report, and the directory that source files are named from; others keep their whole path.
struct PlacedTable {
  const TableReport& report;
  std::string root;
};

/// The rows that have no source line, which are in neither form.
[[nodiscard]] std::size_t count_without_line(const TableReport& report);

/// As compilers write: "FILE:LINE: note: 53 MiB ± 2 allocated here by NAME, 12 samples", a line
/// each.
[[nodiscard]] std::string to_gcc(const PlacedTable& table);

/// SARIF 2.1.0, as code scanning reads it: a result of level "note" each, with the estimate.
[[nodiscard]] std::string to_sarif(const PlacedTable& table);

}  // namespace geiger::report
