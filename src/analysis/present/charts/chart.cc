#include "analysis/present/charts/chart.h"

#include <algorithm>
#include <cmath>

namespace geiger::present {

double Axis::place(double value) const {
  const double low = is_logarithmic ? std::log(least) : least;
  const double high = is_logarithmic ? std::log(most) : most;
  const double here = is_logarithmic ? std::log(std::max(value, least)) : value;
  return std::clamp((here - low) / (high - low), 0.0, 1.0);
}

}  // namespace geiger::present
