// From records to the structures of their types: the one list of both. The size that a type
// needs and the call that a sink gets for it follow from the list.
//
// Everything that reads a trace is a sink: it names the structures that it cares about and
// passes over the others, so a new type of record needs a line here and a function in the sinks
// that use it.
#pragma once

#include <cstdint>
#include <type_traits>

#include "trace/format.h"
#include "trace/reader.h"

namespace geiger::trace {

/// Calls visit(std::type_identity<Layout>()) with the structure of a type; does not for a type
/// that this version does not know.
template <class Visit>
constexpr void with_layout(RecordType type, Visit&& visit) {
  switch (type) {
    case RecordType::kNone:
      return;
    case RecordType::kSample:
      return visit(std::type_identity<SampleRecord>());
    case RecordType::kFree:
      return visit(std::type_identity<FreeRecord>());
    case RecordType::kStack:
      return visit(std::type_identity<StackRecord>());
    case RecordType::kModule:
      return visit(std::type_identity<ModuleRecord>());
    case RecordType::kThread:
      return visit(std::type_identity<ThreadRecord>());
    case RecordType::kEpoch:
      return visit(std::type_identity<EpochRecord>());
    case RecordType::kThreadName:
      return visit(std::type_identity<ThreadNameRecord>());
    case RecordType::kName:
      return visit(std::type_identity<NameRecord>());
    case RecordType::kMark:
      return visit(std::type_identity<MarkRecord>());
    case RecordType::kMapping:
      return visit(std::type_identity<MappingRecord>());
    case RecordType::kUtilization:
      return visit(std::type_identity<UtilizationRecord>());
    case RecordType::kCarried:
      return visit(std::type_identity<CarriedRecord>());
    case RecordType::kCheckpoint:
      return visit(std::type_identity<CheckpointRecord>());
    case RecordType::kThinning:
      return visit(std::type_identity<ThinningRecord>());
    case RecordType::kTally:
      return visit(std::type_identity<TallyRecord>());
    case RecordType::kResidency:
      return visit(std::type_identity<ResidencyRecord>());
  }
}

/// A sink derives from this, says `using RecordSink::on;` and overloads `on` for what it
/// cares about.
struct RecordSink {
  template <class Layout>
  void on(const Record& /*record*/, const Layout& /*layout*/) {}
};

/// Hands a record to a sink. A void CarriedRecord carries nothing, so no sink sees it.
template <class Sink>
void hand_over(const Record& record, Sink& sink) {
  with_layout(record.header.type, [&](auto layout) {
    using Layout = typename decltype(layout)::type;
    constexpr bool kMayBeVoid = std::is_same_v<Layout, CarriedRecord>;
    if (kMayBeVoid && (record.header.flags & kFlagVoid) != 0) return;
    sink.on(record, record.as<Layout>());
  });
}

}  // namespace geiger::trace
