// `fleet cost`: the cost of the memory of all hosts, by function.
//
// The bill is resident memory times time, as read from the kernel. Live objects are an estimate;
// the rest of the bill has the same error.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/present/heading.h"
#include "analysis/present/text.h"
#include "analysis/profile/frames/labels.h"
#include "estimation/estimate.h"

namespace geiger::report {

struct CostOptions {
  double level = 0.95;
  std::size_t top = 30;         ///< Rows; 0: all.
  std::optional<double> price;  ///< Of a GiB for an hour, in any currency.
  present::Scope scope;
};

/// The objects of a function, in bytes times hours.
struct CostLine {
  std::string name, detail;
  profile::SourceLine where;
  estimation::Estimate byte_hours;
};

struct CostReport {
  CostOptions options;
  double bill = 0;            ///< Byte-hours of resident memory, read from the kernel.
  double unrecorded = 0;      ///< Part of it: processes that were not recorded.
  double known_hours = 0;     ///< Recorded hours of hosts with known resident memory.
  double unknown_hours = 0;   ///< Other recorded hours, which are in no figure.
  estimation::Estimate live;  ///< Live objects, in the known hours.
  estimation::Estimate rest;  ///< Resident memory other than live objects, in the known hours.
  std::vector<CostLine> lines;
  estimation::Estimate others;  ///< Rows left out.
  std::uint64_t rows = 0;       ///< Before `top`.
};

/// Fills `rest`: the bill without `live`. Objects may be larger than resident memory.
void settle(CostReport& report);

[[nodiscard]] std::string to_text(const CostReport& report, const present::Style& style);
[[nodiscard]] std::string to_json(const CostReport& report);
[[nodiscard]] const present::Fields<CostReport>& fields_of(present::Of<CostReport> /*type*/);

}  // namespace geiger::report
