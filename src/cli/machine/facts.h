// The machine that geiger runs on, in the words of its kernel: for `geiger doctor --machine`.
#pragma once

#include <string>
#include <vector>

namespace geiger::cli {

struct MachineFact {
  std::string name;
  std::string text;
};

/// Processor with the features that the runtime's code depends on, kernel, pages, C library.
[[nodiscard]] std::vector<MachineFact> machine_facts();

}  // namespace geiger::cli
