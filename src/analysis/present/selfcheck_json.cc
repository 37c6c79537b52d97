#include "analysis/present/selfcheck_json.h"

namespace geiger::present {

using estimation::OffsetReport;
using estimation::Verdict;
using profile::HitCheck;

[[nodiscard]] const Fields<Verdict>& fields_of(Of<Verdict> /*type*/) {
  static const auto kFields = Fields<Verdict>("test", "A test of the recording.")
                                  .field("statistic", "", &Verdict::statistic)
                                  .or_null()
                                  .field("p_value", "", &Verdict::p_value)
                                  .or_null();
  return kFields;
}

const Fields<OffsetReport>& fields_of(Of<OffsetReport> /*type*/) {
  static const auto kFields =
      Fields<OffsetReport>("offset_check",
                           "Where drawn bytes lie in their objects: uniformly, or not.")
          .field("samples", "", &OffsetReport::samples)
          .field("impossible", "outside of their objects", &OffsetReport::impossible)
          .field("p_value", "of all tests together",
                 [](const OffsetReport& it) { return it.p_value(); })
          .or_null()
          .field("anderson_darling", "", &OffsetReport::anderson_darling)
          .field("chi_square", "", &OffsetReport::chi_square)
          .field("bins", "of `chi_square`", &OffsetReport::bins)
          .field("first_byte", "", &OffsetReport::first_byte)
          .field("last_byte", "", &OffsetReport::last_byte);
  return kFields;
}

const Fields<HitCheck>& fields_of(Of<HitCheck> /*type*/) {
  static const auto kFields =
      Fields<HitCheck>("hit_check", "Hits of conclusive threads against their trials.")
          .field("observed", "", &HitCheck::hits)
          .field("is_testable",
                 "false where the interval changed while recording and hits lack their samples",
                 &HitCheck::is_testable)
          .field("expected", "", &HitCheck::expected)
          .or_null()
          .field("z", "difference in standard errors", &HitCheck::z)
          .or_null()
          .field("p_value", "", &HitCheck::p_value)
          .or_null();
  return kFields;
}

}  // namespace geiger::present
