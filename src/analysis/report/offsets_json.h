// The test of the offsets as JSON, for every report that carries it.
#pragma once

#include <string_view>

#include "analysis/report/json.h"
#include "estimation/uniformity.h"

namespace geiger::report {

/// The field `name`: {samples, impossible, p_value, anderson_darling, chi_square,
/// bins, first_byte, last_byte}.
void write_field(JsonWriter& json, std::string_view name, const estimation::OffsetReport& report);

}  // namespace geiger::report
