// The tests of hits and offsets as JSON, for every report that carries them.
#pragma once

#include <string_view>

#include "analysis/present/json.h"
#include "analysis/profile/selfcheck.h"
#include "estimation/distributions/uniformity.h"

namespace geiger::present {

/// The field `name`: {samples, impossible, p_value, anderson_darling, chi_square,
/// bins, first_byte, last_byte}.
void write_field(JsonWriter& json, std::string_view name, const estimation::OffsetReport& report);

/// The field `name`: {observed, expected, z, p_value}.
void write_field(JsonWriter& json, std::string_view name, const profile::HitCheck& check);

}  // namespace geiger::present
