#include "analysis/present/whole_sums.h"

#include <algorithm>
#include <cmath>

#include "estimation/estimate.h"

namespace geiger::present {
namespace {

using estimation::Estimate;
using estimation::Form;
using estimation::NodeSums;

Measure measure(const NodeSums& sums, double level, Form form) {
  return {estimation::estimate_bytes(sums, level, form),
          estimation::estimate_objects(sums, level, form),
          sums.samples + sums.certain_samples,
          sums.certain_samples,
          !estimation::is_size_known(sums),
          std::nullopt};
}

/// The distance to the limit of two errors, of which one lowers a sum to `lo` at most. Often all of
/// few large objects were seen, and `lo` is the truth: then nothing is left for the other error,
/// unless the distances themselves add up.
double distance(double lowering, double raising, const NodeSums& lowered, const Estimate& to) {
  const bool is_what_was_seen = to.interval.lo <= lowered.certain_bytes + lowered.bytes_seen;
  return is_what_was_seen ? lowering + raising : estimation::root_of_squares(lowering, raising);
}

/// Without the open samples of the part.
Share known_share(const NodeSums& part, const NodeSums& whole, double level) {
  const NodeSums others = estimation::rest_of(part, whole);
  const Estimate mine = estimation::estimate_bytes(part, level);
  const Estimate rest = estimation::estimate_bytes(others, level);
  const double sum = mine.value + rest.value;
  if (!(sum > 0)) return {};
  const double share = mine.value / sum;
  const double below = distance((1 - share) * (mine.value - mine.interval.lo),
                                share * (rest.interval.hi - rest.value), part, mine);
  const double above = distance(share * (rest.value - rest.interval.lo),
                                (1 - share) * (mine.interval.hi - mine.value), others, rest);
  return {share, {std::max(0.0, share - below / sum), std::min(1.0, share + above / sum)}};
}

}  // namespace

Measure measure_total(const NodeSums& sums, double level) {
  return measure(sums, level, Form::kTotal);
}

Measure measure_row(const NodeSums& sums, double level) {
  return measure(sums, level, sums.samples > 0 ? Form::kListed : Form::kTotal);
}

std::optional<Estimate> ended_at(const Estimate& part, std::optional<Bytes> most) {
  if (!most || part.interval.hi <= static_cast<double>(*most)) return std::nullopt;
  Estimate ended = part;
  const auto limit = static_cast<double>(*most);
  if (ended.value > limit) {
    // The samples are high by this factor at least, and so may the lower limit be.
    ended.interval.lo = std::max(ended.exact, ended.interval.lo * limit / ended.value);
    ended.value = limit;
  }
  // Of nothing seen the limit reads "< 145 B", where it may be all 144.
  ended.interval.hi = ended.samples == 0 ? limit + 1 : limit;
  return ended;
}

bool WholeSums::calibrates(const NodeSums& part) const {
  return calibrates_ && estimation::has_enough_to_calibrate(part);
}

double WholeSums::bytes_for_order(const NodeSums& part) const {
  if (!calibrates(part)) return part.all_bytes();
  return estimation::calibrated_value(part, sums_, static_cast<double>(known_->bytes));
}

std::optional<Estimate> WholeSums::calibrated(const NodeSums& part, const Estimate& sampled,
                                              double level) const {
  if (!calibrates(part)) return ended_at(sampled, most_);
  const auto found = estimation::calibrated_bytes(part, sums_, *known_, level);
  return found.has_value() ? std::optional(found.value()) : std::nullopt;
}

Measure WholeSums::measure_row(const NodeSums& part, double level) const {
  Measure row = present::measure_row(part, level);
  row.calibrated = calibrated(part, row.bytes, level);
  return row;
}

Measure WholeSums::measure_part(const NodeSums& part, double level) const {
  Measure all = present::measure_total(part, level);
  all.calibrated = calibrated(part, all.bytes, level);
  return all;
}

const Estimate& shown_bytes(const Measure& measure) {
  return measure.calibrated ? *measure.calibrated : measure.bytes;
}

bool is_counted(const Measure& measure) {
  return measure.calibrated && measure.calibrated->exact >= measure.calibrated->value;
}

const Estimate& estimated_bytes(const Measure& measure) {
  return is_counted(measure) ? measure.bytes : shown_bytes(measure);
}

std::optional<double> exact_bytes(const Measure& measure) {
  const bool is_exact = is_counted(measure) && measure.calibrated->open == 0;
  return is_exact ? std::optional(measure.calibrated->value) : std::nullopt;
}

Figure total_figure(const Measure& measure) {
  Figure shown = figure(shown_bytes(measure), Quantity::kBytes);
  if (!is_counted(measure)) return shown;
  if (measure.calibrated->open > 0) {
    return {counted_bytes(static_cast<Bytes>(measure.calibrated->value),
                          static_cast<Bytes>(measure.calibrated->open)),
            ""};
  }
  if (shown.error.empty()) shown.error = "exactly";
  return shown;
}

bool has_objects_interval(const Measure& measure) {
  const bool is_exact = measure.bytes.interval.hi < measure.bytes.value + 1;  // No byte unseen.
  return is_exact || !measure.has_unknown_sizes;
}

Figure objects_figure(const Measure& measure) {
  if (has_objects_interval(measure)) return figure(measure.objects, Quantity::kObjects);
  const double least = std::ceil(measure.objects.interval.lo);
  if (least == 0) return {"-", ""};
  return {"≥ " + exact_count(static_cast<std::uint64_t>(least)), ""};
}

std::string objects_text(const Measure& measure) {
  std::string count = objects_figure(measure).text();
  if (count == "-") return "an unknown number of objects";
  constexpr std::string_view kBound = "≥ ";
  if (count.starts_with(kBound)) count.replace(0, kBound.size(), "at least ");
  const bool is_one = count == "1" || count == "at least 1";
  return count + (is_one ? " object" : " objects");
}

Share share_of(const NodeSums& part, const NodeSums& whole, double level) {
  NodeSums known = part;
  known.open = {};
  Share share = known_share(known, whole, level);
  if (!part.has_open()) return share;
  const Share most = known_share(part.at_most(), whole, level);
  share.interval.hi = std::max(share.interval.hi, most.interval.hi);
  return share;
}

Share share_of(const Measure& measure, const NodeSums& part, const WholeSums& whole, double level) {
  const estimation::KnownTotal total = whole.known().value_or(estimation::KnownTotal{});
  if (total.bytes == 0) return share_of(part, whole.sums(), level);
  const auto least = static_cast<double>(total.bytes);
  const double most = least + static_cast<double>(total.open);
  const Estimate& bytes = shown_bytes(measure);
  return {std::min(1.0, bytes.value / least),
          {std::min(1.0, bytes.interval.lo / most), std::min(1.0, bytes.interval.hi / least)}};
}

}  // namespace geiger::present
