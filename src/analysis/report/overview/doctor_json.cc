#include "analysis/present/measure.h"
#include "analysis/present/names.h"
#include "analysis/present/selfcheck_json.h"
#include "analysis/report/overview/doctor.h"

namespace geiger::present {

using profile::Accounting;
using profile::Agreement;
using profile::SharedDraws;

static const Fields<Agreement>& fields_of(Of<Agreement> /*type*/) {
  static const auto kFields =
      Fields<Agreement>("agreement", "The estimate of a process against what it counted.")
          .field("agrees", "", [](const Agreement& it) { return !it.has_failed(); })
          .field("estimate", "its interval misses once in a million", &Agreement::estimate)
          .field("exact_least", "without what is not settled", &Agreement::least)
          .field("exact_most", "with it", &Agreement::most);
  return kFields;
}

static const Fields<Accounting>& fields_of(Of<Accounting> /*type*/) {
  static const auto kFields =
      Fields<Accounting>("accounting", "Samples that were counted, and those in the trace.")
          .field("counted", "", &Accounting::counted)
          .field("found", "", &Accounting::found)
          .field("dropped", "", &Accounting::dropped)
          .field("in_flight", "threads that were cut off; each may lack its last sample",
                 &Accounting::in_flight)
          .field("missing", "counted, not found, and explained by nothing",
                 [](const Accounting& it) { return it.missing(); })
          .field("surplus", "found, but never counted",
                 [](const Accounting& it) { return it.surplus(); });
  return kFields;
}

static const Fields<InRecording<SharedDraws>>& fields_of(Of<InRecording<SharedDraws>> /*type*/) {
  static const auto kFields =
      Fields<InRecording<SharedDraws>>("shared_draws", "Threads that drew the same numbers.")
          .field("threads", "", &SharedDraws::threads)
          .field("samples", "alike in each, from the first on", &SharedDraws::samples)
          .field("log10_p", "of the probability of that by chance", &SharedDraws::log10_p)
          .or_null()
          .field("pids", "", [](const InRecording<SharedDraws>& it) {
            std::vector<std::uint32_t> pids;
            for (const std::uint32_t process : it.it.processes) {
              pids.push_back(it.recording.processes[process].pid);
            }
            return pids;
          });
  return kFields;
}

}  // namespace geiger::present

namespace geiger::report {
namespace {

using present::Fields;
using present::InRecording;
using present::Of;
}  // namespace

static const Fields<Diagnosis>& fields_of(Of<Diagnosis> /*type*/) {
  static const auto kFields =
      Fields<Diagnosis>("diagnosis", "A check and what it found.")
          .field("check", "", &Diagnosis::check)
          .field("severity", "", [](const Diagnosis& it) { return name_of(it.severity); })
          .one_of({"good", "note", "defect"})
          .field("what", "a sentence with the figures", &Diagnosis::what)
          .field("meaning", "what it does to the numbers; empty if nothing", &Diagnosis::meaning)
          .field("next", "what to do; empty if nothing", &Diagnosis::next);
  return kFields;
}

static const Fields<InRecording<ProcessCheck>>& fields_of(Of<InRecording<ProcessCheck>> /*type*/) {
  using Checked = InRecording<ProcessCheck>;
  static const auto kFields =
      Fields<Checked>("checked_process")
          .field("pid", "",
                 [](const Checked& it) { return it.recording.processes[it.it.index].pid; })
          .field("executable", "",
                 [](const Checked& it) { return it.recording.processes[it.it.index].executable; })
          .field("trace", "",
                 [](const Checked& it) { return it.recording.processes[it.it.index].trace_path; })
          .field("seed", "",
                 [](const Checked& it) { return it.recording.processes[it.it.index].seed; })
          .field("ending", "",
                 [](const Checked& it) {
                   return present::ending_key(it.recording.processes[it.it.index].ending);
                 })
          .one_of(present::texts_of<profile::Ending>(present::ending_key))
          .field("hits", "", &ProcessCheck::hits)
          .field("offsets", "", &ProcessCheck::offsets)
          .field("total", "", &ProcessCheck::agreement)
          .field("samples", "", &ProcessCheck::accounting);
  return kFields;
}

const Fields<InRecording<DoctorReport>>& fields_of(Of<InRecording<DoctorReport>> /*type*/) {
  using Document = InRecording<DoctorReport>;
  static const auto kFields =
      Fields<Document>("doctor")
          .field("level", "", [](const DoctorReport& it) { return it.options.level; })
          .field("healthy", "no defects", [](const DoctorReport& it) { return it.is_healthy(); })
          .field("findings", "every check once", &DoctorReport::diagnoses)
          .field("hits", "of all processes", &DoctorReport::hits)
          .field("offsets", "of all processes", &DoctorReport::offsets)
          .field("shared_draws", "",
                 [](const Document& it) { return present::each_of(it.it.shared, it.recording); })
          .field("processes", "", [](const Document& it) {
            return present::each_of(it.it.processes, it.recording);
          });
  return kFields;
}

std::string to_json(const DoctorReport& report, const profile::Recording& recording) {
  return present::document("doctor", report, recording);
}

}  // namespace geiger::report
