#include "analysis/report/overview/finding.h"

namespace geiger::report {
namespace {

/// What find() says as far as opening() needs it. Searching is most of the work, and for its
/// verdict it takes a search only where samples are few or of no bytes.
Finding outlook(const NamedRecording& named, const profile::Profile& profile, double level) {
  Finding finding;
  finding.kind = profile.kind;
  finding.total = present::Whole(named.recording, profile).measure_total(level);
  const bool has_bytes = finding.total.bytes.interval.hi > 0;
  if (finding.total.samples < kSamplesToName || !has_bytes) return find(named, profile, level);
  finding.verdict = FindingVerdict::kSpread;
  return finding;
}

}  // namespace

Opening find_opening(const NamedRecording& named, const profile::Profile& allocated,
                     const profile::Profile& live, const profile::Profile& peak, bool has_peak,
                     double level) {
  Opening found;
  const Finding of_allocated = outlook(named, allocated, level);
  const Finding of_live = outlook(named, live, level);
  const Finding of_peak = outlook(named, peak, level);
  const Finding& first = opening(of_allocated, of_live, has_peak ? &of_peak : nullptr);
  const profile::Profile& shown =
      &first == &of_allocated ? allocated : (&first == &of_live ? live : peak);
  found.finding = find(named, shown, level);
  found.allocated = of_allocated.total;
  found.live_at_end = of_live.total;
  found.live_at_peak = of_peak.total;
  return found;
}

const Finding& opening(const Finding& allocated, const Finding& live, const Finding* peak) {
  const auto is_named = [](const Finding& finding) {
    return finding.verdict == FindingVerdict::kFound || finding.verdict == FindingVerdict::kSpread;
  };
  const bool has_peak = peak != nullptr && is_named(*peak);
  const bool stays =
      is_named(live) && (!has_peak || 2 * live.total.bytes.interval.lo > peak->total.bytes.value);
  if (stays) return live;
  return has_peak ? *peak : allocated;
}

}  // namespace geiger::report
