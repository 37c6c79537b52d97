#include <algorithm>

#include "api/profiles.h"
#include "api/session.h"
#include "estimation/estimate.h"
#include "openmetrics/open_metrics.h"

namespace geiger::api {

namespace {

struct Question {
  geiger_measure measure;
  geiger_heap heap;
  geiger_predicate keeps;
  void* context;
  double level;
};

Bytes value_of(const Question& question, const geiger_sample& sample) {
  return question.measure == GEIGER_VALUE ? sample.value : estimation::kWholeSize;
}

/// Sums of all samples that count, with the E for allocations without samples.
estimation::NodeSums sums_of(const Profile& profile, const Question& question) {
  estimation::NodeSums sums;
  double largest_ratio = 1;
  for (const Drawn& drawn : profile.samples) {
    const geiger_sample sample = sample_of(profile, drawn);
    if (sample.heap != question.heap) continue;
    if (question.keeps != nullptr && question.keeps(question.context, &sample) == 0) continue;
    const Bytes value = value_of(question, sample);
    const Bytes bytes = value == estimation::kWholeSize ? sample.requested : value;
    if (drawn.is_certain) {
      sums.add_certain(bytes);
    } else {
      sums.add(sample.requested, drawn.lambda, 1, 1.0, value);
      const Bytes tried = estimation::tried_bytes(sample.requested);
      largest_ratio =
          std::max(largest_ratio, static_cast<double>(bytes) / static_cast<double>(tried));
    }
  }
  sums.could_have_sampled(static_cast<double>(profile.largest_interval) * largest_ratio,
                          largest_ratio);
  return sums;
}

void copy(const estimation::Estimate& from, geiger_estimate& to) {
  to.value = from.value;
  to.lowest = from.interval.lo;
  to.highest = from.interval.hi;
  to.variance = from.variance;
  to.exact = from.exact;
  to.samples = from.samples;
}

geiger_status estimate(geiger_profile handle, const Question& question, geiger_estimate& out) {
  std::shared_ptr<Profile> profile;
  const geiger_status status = find_profile(handle, profile);
  if (status != GEIGER_OK) return status;
  const estimation::NodeSums sums = sums_of(*profile, question);
  if (question.measure == GEIGER_OBJECTS) {
    copy(estimation::estimate_objects(sums, question.level), out);
    return GEIGER_OK;
  }
  estimation::Estimate bytes = estimation::estimate_bytes(sums, question.level);
  const bool is_whole_peak =
      profile->kind == GEIGER_PEAK && question.heap == 0 && question.keeps == nullptr;
  if (is_whole_peak) {
    const double interval = static_cast<double>(profile->largest_interval) * profile->rate_factor;
    bytes = profile->course.estimate_largest(bytes, 0, ~Nanoseconds{0}, interval, question.level);
  }
  copy(bytes, out);
  return GEIGER_OK;
}

}  // namespace

}  // namespace geiger::api

geiger_status geiger_estimate_total(geiger_profile profile, geiger_measure measure,
                                    geiger_heap heap, geiger_predicate keeps, void* context,
                                    double level, geiger_estimate* estimate) {
  if (estimate == nullptr) return GEIGER_BAD_ARGUMENT;
  *estimate = {};
  if (measure != GEIGER_BYTES && measure != GEIGER_OBJECTS && measure != GEIGER_VALUE) {
    return GEIGER_BAD_ARGUMENT;
  }
  if (heap > GEIGER_MAX_HEAPS) return GEIGER_WRONG_HEAP;
  if (!geiger::estimation::is_confidence_level(level)) return GEIGER_BAD_LEVEL;
  return geiger::api::guarded([&] {
    return geiger::api::estimate(profile, {measure, heap, keeps, context, level}, *estimate);
  });
}

namespace geiger::api {

// The process's memory as OpenMetrics text.

namespace {

/// A snapshot that is freed at the end of the call.
class Snapshot {
 public:
  Snapshot() : status_(geiger_take_snapshot(GEIGER_LIVE, &profile_)) {}
  Snapshot(const Snapshot&) = delete;
  Snapshot& operator=(const Snapshot&) = delete;
  ~Snapshot() {
    if (status_ == GEIGER_OK) (void)geiger_free_profile(profile_);
  }

  [[nodiscard]] geiger_status status() const { return status_; }
  [[nodiscard]] openmetrics::Estimate total(geiger_measure measure, double level) const {
    geiger_estimate found;
    (void)geiger_estimate_total(profile_, measure, 0, nullptr, nullptr, level, &found);
    return {found.value, found.lowest, found.highest};
  }

 private:
  geiger_profile profile_{};
  geiger_status status_;
};

geiger_status metrics_of(double level, openmetrics::Process& metrics) {
  geiger_recorder recorder;
  const geiger_status known = geiger_get_status(&recorder);
  if (known != GEIGER_OK) return known;
  metrics.is_recording = recorder.is_recording != 0 && recorder.is_paused == 0;
  metrics.live_samples = recorder.live_samples;
  metrics.dropped = recorder.dropped;
  metrics.interval = recorder.interval;
  std::uint64_t bytes = 0;
  if (geiger_get_process_allocated_bytes(&bytes, &metrics.missing) == GEIGER_OK) {
    metrics.allocated = bytes;
  }
  const Snapshot live;
  if (live.status() == GEIGER_NOT_RECORDING) return GEIGER_OK;  // Live objects are unknown.
  if (live.status() != GEIGER_OK) return live.status();
  metrics.live_bytes = live.total(GEIGER_BYTES, level);
  metrics.live_objects = live.total(GEIGER_OBJECTS, level);
  return GEIGER_OK;
}

}  // namespace

}  // namespace geiger::api

geiger_status geiger_write_openmetrics(double level, geiger_writer write, void* context) {
  namespace api = geiger::api;
  if (write == nullptr) return GEIGER_BAD_ARGUMENT;
  if (!geiger::estimation::is_confidence_level(level)) return GEIGER_BAD_LEVEL;
  return api::guarded([&] {
    geiger::openmetrics::Process metrics;
    const geiger_status status = api::metrics_of(level, metrics);
    if (status != GEIGER_OK) return status;
    const std::string text = geiger::openmetrics::text_of({metrics}, level, GEIGER_VERSION);
    return write(context, text.data(), text.size()) == 0 ? GEIGER_OK : GEIGER_FAILED_IO;
  });
}
