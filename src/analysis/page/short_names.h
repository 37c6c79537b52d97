// Short names for the functions of a page.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "analysis/page/call_tree.h"
#include "analysis/page/names.h"

namespace geiger::page {

class ShortNames {
 public:
  ShortNames() = default;
  /// Of all functions of the tree: two that differ do not look the same.
  ShortNames(const CallTree& tree, const Names& names);

  /// For each of the names used, at most `most` bytes; empty: the name itself.
  [[nodiscard]] std::vector<std::string> of(const UsedNames& names, std::size_t most) const;

 private:
  std::vector<std::string> texts_;  ///< By NameIndex; empty: the name itself.
};

}  // namespace geiger::page
