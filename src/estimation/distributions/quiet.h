// The policy with which special functions of Boost are called: they never throw.
#pragma once

#include <boost/math/policies/policy.hpp>

namespace geiger::estimation {

/// Outside its domain a function gives NaN, and callers stay inside; beyond the range
/// of a double it gives infinity or 0, and where a quantile goes under, 0 is right.
/// Doubles are not promoted to long double.
using Quiet = boost::math::policies::policy<
    boost::math::policies::domain_error<boost::math::policies::ignore_error>,
    boost::math::policies::pole_error<boost::math::policies::ignore_error>,
    boost::math::policies::overflow_error<boost::math::policies::ignore_error>,
    boost::math::policies::underflow_error<boost::math::policies::ignore_error>,
    boost::math::policies::evaluation_error<boost::math::policies::ignore_error>,
    boost::math::policies::promote_double<false>>;

}  // namespace geiger::estimation
