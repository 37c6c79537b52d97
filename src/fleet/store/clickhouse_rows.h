// Documents as rows of ClickHouse's tables.
#pragma once

#include <string>
#include <vector>

#include "fleet/document/document.h"
#include "fleet/store/store.h"

namespace geiger::fleet {

/// Rows of a table.
struct TableRows {
  const char* table = "";
  const char* columns = "";  ///< "a, b"
  std::string bytes;         ///< RowBinary; may be empty.
};

/// In the order in which they are to be inserted: those of the window come last, and commit it.
[[nodiscard]] std::vector<TableRows> rows_of(const Document& document, std::uint64_t content);
/// Their names.
[[nodiscard]] TableRows frames_of(const std::vector<Location>& locations);

[[nodiscard]] TableRows sites_of(const std::vector<SiteRow>& sites);

}  // namespace geiger::fleet
