// The tests of hits and offsets as JSON, for every report that carries them.
#pragma once

#include "analysis/present/fields.h"
#include "analysis/profile/selfcheck.h"
#include "estimation/distributions/uniformity.h"

namespace geiger::present {

[[nodiscard]] const Fields<estimation::OffsetReport>& fields_of(
    Of<estimation::OffsetReport> /*type*/);
[[nodiscard]] const Fields<profile::HitCheck>& fields_of(Of<profile::HitCheck> /*type*/);

}  // namespace geiger::present
