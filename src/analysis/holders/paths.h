// Chains of blocks, shortened.
#pragma once

#include <vector>

#include "analysis/profile/recording/observations.h"

namespace geiger::holders {

/// Whether two blocks of a chain look the same.
[[nodiscard]] bool is_alike(const profile::HolderStep& a, const profile::HolderStep& b);

/// Folds pairs and triples that are there several times in a row.
void fold(std::vector<profile::HolderStep>& steps);

}  // namespace geiger::holders
