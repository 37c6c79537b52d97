// `fleet cost`: what the memory of all hosts costs, and who is to pay for it.
//
// The bill is resident memory times time, as it was read from the kernel. Live objects are an
// estimate; what they do not account for is the rest of the same bill, with the same error.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/present/scope.h"
#include "analysis/present/style.h"
#include "analysis/profile/frames/source_line.h"
#include "estimation/estimate.h"

namespace geiger::report {

struct CostOptions {
  double level = 0.95;
  std::size_t top = 30;         ///< Rows; 0: all.
  std::optional<double> price;  ///< Of a GiB for an hour, in any currency.
  present::Scope scope;
};

/// What objects of a function took, in bytes times hours.
struct CostLine {
  std::string name, detail;
  profile::SourceLine where;
  estimation::Estimate byte_hours;
};

struct CostReport {
  CostOptions options;
  double bill = 0;            ///< Byte-hours of resident memory, read from the kernel.
  double unrecorded = 0;      ///< Part of it: of what ran and was not recorded.
  double known_hours = 0;     ///< Recorded hours of hosts of which resident memory is known.
  double unknown_hours = 0;   ///< Other recorded hours: they are in no figure here.
  estimation::Estimate live;  ///< Of objects, in the known hours.
  estimation::Estimate rest;  ///< What is resident and no live object, in the known hours.
  std::vector<CostLine> lines;
  estimation::Estimate others;  ///< Rows left out.
  std::uint64_t rows = 0;       ///< Before `top`.
};

/// Fills `rest`: of the bill, what `live` leaves. Objects may hold more than is resident.
void settle(CostReport& report);

[[nodiscard]] std::string to_text(const CostReport& report, const present::Style& style);
[[nodiscard]] std::string to_json(const CostReport& report);

}  // namespace geiger::report
