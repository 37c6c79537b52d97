// The names that the program gives: labels, types, heaps.
//
// A name is defined once per process and then has an id. A thread-local word contains the label in
// force, so entering a label costs one store. The name itself is written into the trace when the
// first sample needs it, again in every image.
//
//   define (once)  ->  id  ->  tls.label = id  ->  sample  ->  ref_of(id): NameRecord
//
// Threads / Signals: lock-free. Fork: ids stay valid, the child's trace gets its own records.
// Allocates: from the arena; names are never freed, hence the limits.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/capture/image/segment.h"
#include "trace/format.h"

namespace geiger::capture {

/// 0 = none.
using NameId = std::uint32_t;

inline constexpr std::size_t kMaxNameBytes = 1024;
inline constexpr NameId kMaxNames = 1U << 16;
/// Labels within labels.
inline constexpr std::uint32_t kMaxNesting = 16;

/// The id of a name: the known one, or a new one. `owner`: the label around a label (0: none), the
/// number of a heap, else 0. 0 when a limit above is exceeded, the owner is not a label, or no
/// memory is left.
NameId define_name(trace::NameKind kind, std::uint32_t owner, const char* text, std::size_t bytes);

/// Finds or writes the record of a name in a segment. 0 for 0, and if the trace has no room.
trace::Ref ref_of_name(Segment& segment, NameId name);

/// Finds or writes the record in `segment` of the name whose record in `before` is `ref`; 0 for 0.
trace::Ref carry_name(Segment& segment, const Segment& before, trace::Ref ref);

/// A defined name: the arguments of its define_name().
struct NamedThing {
  trace::NameKind kind;
  std::uint32_t owner;
  const char* text;  ///< Not NUL-terminated; null for an unknown id.
  std::size_t bytes;
};
[[nodiscard]] NamedThing name_at(NameId name);

/// Writes a mark into the trace. False: not recording, or the text is too long.
bool write_mark(const char* text, std::size_t bytes);

}  // namespace geiger::capture
