#include "live/served_metrics.h"

#include "openmetrics/open_metrics.h"

namespace geiger::live {
namespace {

openmetrics::Estimate estimate_of(const estimation::Estimate& estimate) {
  return {estimate.value, estimate.interval.lo, estimate.interval.hi};
}

openmetrics::Process metrics_of(const profile::Recording& picture,
                                const report::LiveProcess& process, report::LiveOptions options) {
  options.process = process.index;
  const report::LiveReport found = live_report(picture, {process}, options);
  openmetrics::Process metrics;
  metrics.labels = {{"pid", std::to_string(process.pid)}, {"program", process.name}};
  metrics.is_recording = process.state == "recording";
  metrics.live_bytes = estimate_of(found.live.bytes);
  metrics.live_objects = estimate_of(found.live.objects);
  metrics.allocated = found.exact_bytes;
  metrics.missing = found.unsettled;
  metrics.samples = found.samples;
  metrics.live_samples = found.live_samples;
  metrics.dropped = found.dropped;
  metrics.interval = found.interval;
  if (found.resident != 0) metrics.resident = found.resident;
  return metrics;
}

}  // namespace

std::string served_metrics(const profile::Recording& picture,
                           const std::vector<report::LiveProcess>& processes, Nanoseconds now,
                           double level) {
  report::LiveOptions options;
  options.table.level = level;
  options.table.top = 1;
  options.now = now;
  std::vector<openmetrics::Process> all;
  for (const report::LiveProcess& process : processes) {
    all.push_back(metrics_of(picture, process, options));
  }
  return openmetrics::text_of(all, level, GEIGER_VERSION);
}

}  // namespace geiger::live
