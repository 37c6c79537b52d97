// The limits of `check` and `fleet check`: their options, and how the answer is printed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analysis/compare/gates.h"
#include "analysis/report/compare/check.h"
#include "base/outcome.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace geiger::cli {

// Budget files: limits that live beside the code they are about.
//
//   # comment
//   max-bytes  200MiB  *                 the whole
//   max-growth 5%      parse_*           functions that match, with all they call
//   max-bytes  64KiB   * in libssl.so    of one module
//   max-bytes  1MiB    label test=*      allocations within labels that match

/// The gates of a budget. `path` is for messages, which name the line: "PATH:3: ...".
[[nodiscard]] base::Outcome<std::vector<compare::GateSpec>> parse_budget(std::string_view text,
                                                                         const std::string& path);

/// Reads and parses a budget file.
[[nodiscard]] base::Outcome<std::vector<compare::GateSpec>> read_budget(const std::string& path);

/// As typed; empty: not given.
struct GateOptions {
  report::CheckOptions check;
  bool is_json = false;
  bool allows_missing_baseline = false;
  bool is_strict = false;  ///< What was not sampled is undecided.
  std::string junit, budget, max_growth, max_bytes, ignore_below;
  compare::Grouping grouping;
  CLI::Option* by = nullptr;
};

/// --max-growth, --max-bytes, --budget, --strict, --ignore-below, --junit, --top, --by,
/// --inclusive.
void add_gate_options(CLI::App& verb, GateOptions& options);

/// The limits that were given. Fails if none was.
base::Outcome<compare::Gates> gates_of(const GateOptions& options);

/// The patterns that a collector needs for these gates, in their order.
[[nodiscard]] std::vector<compare::Pattern> patterns_of(const compare::Gates& gates);

/// Answers the gates and prints the answers; the exit code says the worst of them.
/// `not_compared`: limits that were skipped for lack of a baseline.
base::Outcome<int> print_gates(const GateOptions& options, profile::Kind kind,
                               const compare::Gates& gates, const compare::Collected& collected,
                               std::vector<compare::GateSpec> not_compared = {});

}  // namespace geiger::cli
