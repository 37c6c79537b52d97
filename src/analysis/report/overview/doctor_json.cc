#include "analysis/present/json.h"
#include "analysis/present/names.h"
#include "analysis/present/selfcheck_json.h"
#include "analysis/report/overview/doctor.h"

namespace geiger::report {
namespace {

using profile::Recording;

void write_findings(present::JsonWriter& json, const DoctorReport& report) {
  json.objects("findings", report.diagnoses, [&](const Diagnosis& diagnosis) {
    json.field("check", diagnosis.check);
    json.field("severity", name_of(diagnosis.severity)).field("what", diagnosis.what);
    json.field("meaning", diagnosis.meaning).field("next", diagnosis.next);
  });
}

void write_process(present::JsonWriter& json, const ProcessCheck& check,
                   const Recording& recording) {
  const profile::Process& process = recording.processes[check.index];
  json.begin_object().field("pid", process.pid).field("executable", process.executable);
  json.field("trace", process.trace_path).field("seed", process.seed);
  json.field("ending", present::ending_key(process.ending));
  write_field(json, "hits", check.hits);
  write_field(json, "offsets", check.offsets);
  json.key("total").begin_object().field("agrees", !check.agreement.has_failed());
  json.field("estimate", check.agreement.estimate);
  json.field("exact_least", check.agreement.least).field("exact_most", check.agreement.most);
  json.end_object().key("samples").begin_object();
  json.field("counted", check.accounting.counted).field("found", check.accounting.found);
  json.field("dropped", check.accounting.dropped).field("in_flight", check.accounting.in_flight);
  json.field("missing", check.accounting.missing()).field("surplus", check.accounting.surplus());
  json.end_object().end_object();
}

void write_shared(present::JsonWriter& json, const DoctorReport& report,
                  const Recording& recording) {
  json.objects("shared_draws", report.shared, [&](const profile::SharedDraws& group) {
    json.field("threads", group.threads).field("samples", group.samples);
    json.field("log10_p", group.log10_p);
    json.array("pids", group.processes, [&](const std::uint32_t process) {
      json.integer(recording.processes[process].pid);
    });
  });
}

}  // namespace

std::string to_json(const DoctorReport& report, const Recording& recording) {
  present::JsonWriter json("doctor");
  json.field("level", report.options.level).field("healthy", report.is_healthy());
  write_findings(json, report);
  write_field(json, "hits", report.hits);
  write_field(json, "offsets", report.offsets);
  write_shared(json, report, recording);
  json.array("processes", report.processes,
             [&](const ProcessCheck& check) { write_process(json, check, recording); });
  return json.finish();
}

}  // namespace geiger::report
