#include "analysis/present/json.h"
#include "analysis/present/names.h"
#include "analysis/present/selfcheck_json.h"
#include "analysis/report/overview/doctor.h"

namespace geiger::report {
namespace {

using profile::Recording;

void write_findings(present::JsonWriter& json, const DoctorReport& report) {
  json.key("findings").begin_array();
  for (const Diagnosis& diagnosis : report.diagnoses) {
    json.begin_object().field("check", diagnosis.check);
    json.field("severity", name_of(diagnosis.severity)).field("what", diagnosis.what);
    json.field("meaning", diagnosis.meaning).field("next", diagnosis.next).end_object();
  }
  json.end_array();
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
  json.key("shared_draws").begin_array();
  for (const profile::SharedDraws& group : report.shared) {
    json.begin_object().field("threads", group.threads).field("samples", group.samples);
    json.field("log10_p", group.log10_p).key("pids").begin_array();
    for (const std::uint32_t process : group.processes) {
      json.integer(recording.processes[process].pid);
    }
    json.end_array().end_object();
  }
  json.end_array();
}

}  // namespace

std::string to_json(const DoctorReport& report, const Recording& recording) {
  present::JsonWriter json;
  json.begin_object().field("schema_version", present::kSchemaVersion).field("report", "doctor");
  json.field("level", report.options.level).field("healthy", report.is_healthy());
  write_findings(json, report);
  write_field(json, "hits", report.hits);
  write_field(json, "offsets", report.offsets);
  write_shared(json, report, recording);
  json.key("processes").begin_array();
  for (const ProcessCheck& check : report.processes) write_process(json, check, recording);
  json.end_array().end_object();
  return json.take();
}

}  // namespace geiger::report
