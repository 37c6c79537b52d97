// The process's memory as OpenMetrics text.
#include "api/gate.h"
#include "api/profiles.h"
#include "estimation/estimate.h"
#include "openmetrics/open_metrics.h"

namespace geiger::api {
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
