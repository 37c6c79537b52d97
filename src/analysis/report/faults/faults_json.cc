#include <algorithm>
#include <string>

#include "analysis/present/function_names.h"
#include "analysis/present/json.h"
#include "analysis/present/stack_json.h"
#include "analysis/report/faults/faults.h"

namespace geiger::report {
namespace {

using profile::Fault;
using profile::Recording;

void write_event(present::JsonWriter& json, const char* name, const Fault& fault,
                 const Fault::Event& event, const Recording& recording) {
  if (event.time == 0) return;
  json.object(name, [&] {
    json.field("before_ns", fault.time - std::min(event.time, fault.time));
    json.field("tid", event.tid);
    if (event.stack < recording.stacks.size()) write_stack(json, recording, event.stack);
  });
}

void write_fault(present::JsonWriter& json, const FaultLine& line, const Recording& recording) {
  const Fault& fault = recording.faults[line.index];
  const profile::Process& process = recording.processes[fault.process];
  json.field("sentence", line.sentence).field("times", line.times);
  json.field("kind", words_of(fault.kind).key).field("access", words_of(fault.access).key);
  json.field("after_ns", fault.time - std::min(process.start, fault.time));
  json.field("pid", process.pid);
  if (fault.thread < recording.threads.size()) {
    json.field("tid", recording.threads[fault.thread].tid);
    json.field("thread", recording.threads[fault.thread].name);
  }
  json.field("address", fault.address);
  if (fault.object != 0) json.field("object", fault.object).field("bytes", fault.bytes);
  if (fault.stack < recording.stacks.size()) write_stack(json, recording, fault.stack);
  write_event(json, "allocated", fault, fault.allocated, recording);
  write_event(json, "freed", fault, fault.freed, recording);
}

}  // namespace

std::string to_json(const FaultsReport& report, const Recording& recording) {
  const GuardedObjects& guarding = report.guarding;
  present::JsonWriter json("faults");
  json.object("guarding", [&] {
    json.field("rate", guarding.rate).field("samples", guarding.samples);
    json.field("chosen", guarding.chosen).field("guarded", guarding.guarded());
    json.field("too_large", guarding.large).field("no_room", guarding.full);
    json.array("obstacles", guarding.obstacles,
               [&](const std::string& obstacle) { json.string(obstacle); });
  });
  json.field("fault_count", report.faults);
  json.objects("faults", report.lines,
               [&](const FaultLine& line) { write_fault(json, line, recording); });
  return json.finish();
}

}  // namespace geiger::report
