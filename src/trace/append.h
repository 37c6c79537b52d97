// Appends one record to a trace: reserves its space, fills it in place, commits it. The only way
// in which the runtime writes records.
//
//   append<EpochRecord>(writer, {}, [&](EpochRecord& record) { record.time = now; ... });
//
// Threads / Signals / Fork / Allocates: as trace/writer.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/attributes.h"
#include "base/check.h"
#include "trace/format.h"
#include "trace/record_types.h"
#include "trace/writer.h"

namespace geiger::trace {

/// The fields of a record's header besides type and size, and the bytes that follow the layout.
struct Heading {
  std::uint32_t thread = 0;
  std::uint8_t flags = 0;
  std::uint16_t cpu = kUnknownCpu;
  std::size_t more_bytes = 0;  ///< After the layout, padded to a word.
};

/// A reserved record; false if the trace had no room for it.
template <typename Record>
struct Draft {
  Record* record;
  Ref ref;
  std::uint64_t header;  ///< As it will be committed, packed.

  void add_flags(std::uint8_t flags) {
    header |= std::uint64_t{flags} << RecordHeader::kFlagsShift;
  }

  [[nodiscard]] explicit operator bool() const { return record != nullptr; }
};

template <typename Record>
[[nodiscard]] GEIGER_FAST_PATH Draft<Record> begin_record(Writer& writer, const Heading& heading) {
  static_assert(type_of<Record>() != RecordType::kNone);
  const std::size_t words = (sizeof(Record) + heading.more_bytes + 7) / 8;
  if (heading.more_bytes != 0 && !GEIGER_CHECK(words <= kMaxRecordWords)) return {};
  const std::uint64_t header =
      RecordHeader{type_of<Record>(), heading.flags, static_cast<std::uint16_t>(words), heading.cpu,
                   heading.thread}
          .pack();
  const Slot slot = writer.reserve(header);
  return {reinterpret_cast<Record*>(slot.words), slot.ref, header};
}

template <typename Record>
GEIGER_FAST_PATH void commit_record(const Draft<Record>& draft) {
  Writer::commit({reinterpret_cast<std::uint64_t*>(draft.record), draft.ref}, draft.header);
}

/// Writes a record that `fill(record)` fills in; its space is zero before. The reference is 0 if
/// there was no room.
template <typename Record, typename Fill>
GEIGER_FAST_PATH Draft<Record> append(Writer& writer, const Heading& heading, const Fill& fill) {
  const Draft<Record> draft = begin_record<Record>(writer, heading);
  if (!draft) return draft;
  fill(*draft.record);
  commit_record(draft);
  return draft;
}

/// Copies a record made elsewhere except for its header, which stays reserved: readers of the live
/// trace look at it meanwhile.
template <typename Record>
GEIGER_FAST_PATH void copy_body(Record& to, const Record& from) {
  constexpr std::size_t kHeader = sizeof from.header;
  __builtin_memcpy(reinterpret_cast<char*>(&to) + kHeader,
                   reinterpret_cast<const char*>(&from) + kHeader, sizeof from - kHeader);
}

}  // namespace geiger::trace
