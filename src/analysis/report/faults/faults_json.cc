#include <algorithm>

#include "analysis/present/function_names.h"
#include "analysis/report/faults/faults.h"

namespace geiger::report {
namespace {

using present::Fields;
using present::InRecording;
using present::Of;
using profile::Fault;
using profile::Recording;

/// What was done to the object of a fault before.
struct EventOf {
  const Fault& fault;
  const Fault::Event& event;
  const Recording& recording;
};

const Fields<EventOf>& fields_of(Of<EventOf> /*type*/) {
  static const auto kFields =
      Fields<EventOf>("fault_event", "What was done to the object before.")
          .field("before_ns", "the fault",
                 [](const EventOf& it) {
                   return it.fault.time - std::min(it.event.time, it.fault.time);
                 })
          .field("tid", "", [](const EventOf& it) { return it.event.tid; })
          .inlined(
              [](const EventOf& it) { return present::stack_of(it.recording, it.event.stack); });
  return kFields;
}

const Fault& fault_of(const InRecording<FaultLine>& it) { return it.recording.faults[it.it.index]; }

const profile::Process& process_of(const InRecording<FaultLine>& it) {
  return it.recording.processes[fault_of(it).process];
}

const profile::Thread* thread_of(const InRecording<FaultLine>& it) {
  const std::uint32_t thread = fault_of(it).thread;
  return thread < it.recording.threads.size() ? &it.recording.threads[thread] : nullptr;
}

std::optional<EventOf> event_of(const InRecording<FaultLine>& it, const Fault::Event& event) {
  return present::if_true(event.time != 0, EventOf{fault_of(it), event, it.recording});
}

}  // namespace

static const Fields<InRecording<FaultLine>>& fields_of(Of<InRecording<FaultLine>> /*type*/) {
  using Line = InRecording<FaultLine>;
  static const auto kFields =
      Fields<Line>("fault")
          .field("sentence", "what happened", &FaultLine::sentence)
          .field("times", "faults of this kind at this place", &FaultLine::times)
          .field("kind", "", [](const Line& it) { return words_of(fault_of(it).kind).key; })
          .one_of(present::texts_of<vocabulary::FaultKind>(
              [](vocabulary::FaultKind kind) { return words_of(kind).key; }))
          .field("access", "", [](const Line& it) { return words_of(fault_of(it).access).key; })
          .one_of(present::texts_of<vocabulary::Access>(
              [](vocabulary::Access access) { return words_of(access).key; }))
          .field("after_ns", "the start of the process",
                 [](const Line& it) {
                   const Nanoseconds time = fault_of(it).time;
                   return time - std::min(process_of(it).start, time);
                 })
          .field("pid", "", [](const Line& it) { return process_of(it).pid; })
          .field("tid", "",
                 [](const Line& it) {
                   const auto* thread = thread_of(it);
                   return thread == nullptr ? std::nullopt : std::optional(thread->tid);
                 })
          .field("thread", "its name",
                 [](const Line& it) {
                   const auto* thread = thread_of(it);
                   return thread == nullptr ? std::nullopt : std::optional(thread->name);
                 })
          .field("address", "of the access", [](const Line& it) { return fault_of(it).address; })
          .field("object", "its address, where it is known",
                 [](const Line& it) {
                   return present::if_true(fault_of(it).object != 0, fault_of(it).object);
                 })
          .field("bytes", "of the object, as requested",
                 [](const Line& it) {
                   return present::if_true(fault_of(it).object != 0, fault_of(it).bytes);
                 })
          .inlined(
              [](const Line& it) { return present::stack_of(it.recording, fault_of(it).stack); })
          .field("allocated", "",
                 [](const Line& it) { return event_of(it, fault_of(it).allocated); })
          .field("freed", "", [](const Line& it) { return event_of(it, fault_of(it).freed); });
  return kFields;
}

const Fields<GuardedObjects>& fields_of(Of<GuardedObjects> /*type*/) {
  static const auto kFields =
      Fields<GuardedObjects>("guarding", "Guard mode in all processes together.")
          .field("rate", "one sample in so many was chosen, at the end; 0: none",
                 &GuardedObjects::rate)
          .field("rate_changed", "while a process ran", &GuardedObjects::has_changed)
          .field("exact", "reads of the bytes right behind an object are seen, whatever its size",
                 &GuardedObjects::is_exact)
          .field("samples", "of processes in guard mode", &GuardedObjects::samples)
          .field("chosen", "", &GuardedObjects::chosen)
          .field("guarded", "", [](const GuardedObjects& it) { return it.guarded(); })
          .field("too_large", "chosen, but too large", &GuardedObjects::large)
          .field("no_room", "chosen, but found no room", &GuardedObjects::full)
          .field("obstacles", "why objects of a process were not guarded",
                 &GuardedObjects::obstacles);
  return kFields;
}

const Fields<InRecording<FaultsReport>>& fields_of(Of<InRecording<FaultsReport>> /*type*/) {
  using Document = InRecording<FaultsReport>;
  static const auto kFields =
      Fields<Document>("faults")
          .field("guarding", "", &FaultsReport::guarding)
          .field("fault_count", "all of them", &FaultsReport::faults)
          .field("faults", "different ones, in order of time",
                 [](const Document& it) { return present::each_of(it.it.lines, it.recording); });
  return kFields;
}

std::string to_json(const FaultsReport& report, const Recording& recording) {
  return present::document("faults", report, recording);
}

}  // namespace geiger::report
