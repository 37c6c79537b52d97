#include "analysis/present/json.h"
#include "analysis/report/allocators/allocators.h"

namespace geiger::report {
namespace {

void write_kept(present::JsonWriter& json, std::string_view name,
                const std::optional<estimation::Estimate>& estimate) {
  if (estimate) json.field(name, *estimate);
}

}  // namespace

std::string to_json(const AllocatorsReport& report) {
  present::JsonWriter json("compare-malloc");
  json.field("level", report.level).field("program", report.program);
  json.field("rounds", report.rounds);
  if (!report.ending.empty()) json.field("ending", report.ending);
  json.objects("allocators", report.lines, [&](const AllocatorLine& line) {
    const AllocatorRuns& runs = line.runs;
    json.field("name", runs.name).field("version", runs.version).field("path", runs.path);
    json.field("is_own", runs.path.empty());
    if (!runs.fault.empty()) {
      json.field("fault", runs.fault);
      return;
    }
    json.field("cpu_seconds", line.cpu);
    json.field("cpu_of_own", line.cpu_ratio);
    json.field("peak_rss", line.peak);
    json.field("peak_rss_of_own", line.peak_ratio);
    json.field("takes_less_cpu", line.takes_less_cpu);
    json.field("takes_less_memory", line.takes_less_memory);
    if (line.runs.is_own_too) json.field("is_own_too", true);
    write_kept(json, "kept", runs.memory.kept);
    write_kept(json, "stranded", runs.memory.stranded);
    json.objects("runs", runs.trials, [&](const AllocatorTrial& trial) {
      json.field("cpu_seconds", trial.cpu).field("peak_rss", trial.peak);
    });
  });
  return json.finish();
}

}  // namespace geiger::report
