// The structure of each type of record, in one list. The size that a type needs, the overload that
// a sink gets for it and the type written into a header follow from the list.
#pragma once

#include <cstdint>
#include <type_traits>

#include "trace/interpreter_records.h"
#include "trace/records.h"

namespace geiger::trace {

/// Calls visit(std::type_identity<Layout>()) with the structure of a type; ignores types that this
/// version does not know.
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
    case RecordType::kCode:
      return visit(std::type_identity<CodeRecord>());
    case RecordType::kInterpreter:
      return visit(std::type_identity<InterpreterRecord>());
    case RecordType::kFault:
      return visit(std::type_identity<FaultRecord>());
    case RecordType::kObjectType:
      return visit(std::type_identity<ObjectTypeRecord>());
  }
}

/// The type in the header of records of this structure; kNone if it is not a record's structure.
template <class Layout>
consteval RecordType type_of() {
  RecordType found = RecordType::kNone;
  for (std::uint8_t i = 0; i <= static_cast<std::uint8_t>(RecordType::kMaxKnown); ++i) {
    const auto type = static_cast<RecordType>(i);
    with_layout(type, [&](auto layout) {
      if constexpr (std::is_same_v<typename decltype(layout)::type, Layout>) found = type;
    });
  }
  return found;
}

}  // namespace geiger::trace
