// What `geiger doctor --machine` records: this executable again, as a program that allocates.
#pragma once

#include <cstdint>
#include <string>

#include "base/outcome.h"

namespace geiger::cli {

/// Objects that handed-over loads allocate: of no other size, and each freed by another thread.
inline constexpr std::uint64_t kHandedObjects = 200'000;
inline constexpr std::uint64_t kHandedBytes = 1009;

/// Its names as the value of the hidden option: "handover", or a number of pairs of malloc and
/// free.
[[nodiscard]] base::Outcome<int> carry_load(const std::string& load);

}  // namespace geiger::cli
