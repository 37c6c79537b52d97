// What `geiger doctor --machine` looks at: the machine in the words of its kernel, and a program to
// record on it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/outcome.h"

namespace geiger::cli {

// The machine that geiger runs on, in the words of its kernel: for `geiger doctor --machine`.

struct MachineFact {
  std::string name;
  std::string text;
};

/// Processor with the features that the runtime's code depends on, kernel, pages, C library.
[[nodiscard]] std::vector<MachineFact> machine_facts();

// What `geiger doctor --machine` records: this executable again, as a program that allocates.

/// Objects that handed-over loads allocate: of no other size, and each freed by another thread.
inline constexpr std::uint64_t kHandedObjects = 200'000;
inline constexpr std::uint64_t kHandedBytes = 1009;

/// Its names as the value of the hidden option: "handover", or a number of pairs of malloc and
/// free.
[[nodiscard]] base::Outcome<int> carry_load(const std::string& load);

}  // namespace geiger::cli
