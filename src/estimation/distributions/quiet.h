// The policy for calls of Boost's special functions: they never throw.
#pragma once

#include <boost/math/policies/policy.hpp>

namespace geiger::estimation {

/// Outside its domain a function returns NaN, which callers avoid. Outside of the range of a double
/// it returns infinity or 0; for a quantile that underflows, 0 is correct. Doubles are not promoted
/// to long double.
using Quiet = boost::math::policies::policy<
    boost::math::policies::domain_error<boost::math::policies::ignore_error>,
    boost::math::policies::pole_error<boost::math::policies::ignore_error>,
    boost::math::policies::overflow_error<boost::math::policies::ignore_error>,
    boost::math::policies::underflow_error<boost::math::policies::ignore_error>,
    boost::math::policies::evaluation_error<boost::math::policies::ignore_error>,
    boost::math::policies::promote_double<false>>;

}  // namespace geiger::estimation
