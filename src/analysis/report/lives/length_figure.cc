#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "analysis/present/format.h"
#include "analysis/report/lives/lifetimes.h"

namespace geiger::report {
namespace {

std::string length_text(double nanoseconds) {
  const double cut = std::clamp(nanoseconds, 0.0, 0x1p62);
  return present::duration(present::whole_number(cut));
}

}  // namespace

present::Figure length_figure(const estimation::SurvivalCurve::Quantile& quantile, double longest) {
  if (!quantile.value && !(longest > 0)) return {"-", ""};  // Nothing was watched.
  const std::string value =
      quantile.value ? length_text(*quantile.value) : "> " + length_text(longest);
  const double lo = quantile.lo.value_or(longest);
  const double hi = quantile.hi.value_or(longest);
  const bool is_point =
      quantile.value ? quantile.hi && lo == *quantile.value && hi == lo : lo >= longest;
  if (is_point) return {value, ""};
  return {value, fmt::format("[{}, {}]", length_text(lo), quantile.hi ? length_text(hi) : "…")};
}

}  // namespace geiger::report
