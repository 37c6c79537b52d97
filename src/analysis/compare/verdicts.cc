#include "analysis/compare/verdicts.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "estimation/discoveries.h"

namespace geiger::compare {

Verdict verdict_of(const Row& row, const Site* site, double alpha) {
  if (row.change.q_value > alpha || row.change.value == 0) return Verdict::kNoise;
  const bool grew = row.change.value > 0;
  if (site != nullptr && grew && site->before.samples() == 0) return Verdict::kNew;
  if (site != nullptr && !grew && site->after.samples() == 0) return Verdict::kGone;
  return grew ? Verdict::kGrew : Verdict::kShrank;
}

void put_in_order(std::vector<Row>& rows) {
  std::ranges::stable_sort(rows, [](const Row& a, const Row& b) {
    const bool a_changed = is_change(a.verdict);
    const bool b_changed = is_change(b.verdict);
    if (a_changed != b_changed) return a_changed;
    return std::abs(a.change.value) > std::abs(b.change.value);
  });
}

void judge(Comparison& comparison, const std::vector<std::size_t>& tested) {
  std::vector<double> p;
  p.reserve(tested.size());
  for (const std::size_t i : tested) p.push_back(comparison.rows[i].change.p_value);
  const std::vector<double> q = estimation::adjusted_p_values(p);
  for (std::size_t i = 0; i < tested.size(); ++i) {
    Row& row = comparison.rows[tested[i]];
    row.change.q_value = q[i];
    row.verdict = verdict_of(row, &comparison.collected.sites[row.site], 1 - comparison.level);
  }
  comparison.tested = tested.size();
}

Verdict verdict_of(const ExactTotals& totals, double alpha) {
  if (totals.p_value > alpha || totals.change() == 0) return Verdict::kNoise;
  return totals.change() > 0 ? Verdict::kGrew : Verdict::kShrank;
}

std::string_view name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::kGrew:
      return "grew";
    case Verdict::kShrank:
      return "shrank";
    case Verdict::kNew:
      return "new";
    case Verdict::kGone:
      return "gone";
    case Verdict::kNoise:
      return "noise";
    case Verdict::kTooFew:
      return "too few samples";
  }
  return "";
}

}  // namespace geiger::compare
