// Records how much of each live sample is resident, by asking the kernel on request.
//
// The observer reads that from outside. Where it may not, it changes a word of the control page,
// and the next slow path that sees the new word asks mincore, which answers inside the process
// only, and records the answers.
//
// Threads: the request is served by one. Signals: safe; 256 bytes of stack. Fork: a child
// serves requests of its own control page. Allocates: never. No call once the program has
// confined itself: such a request gets no answer.
#pragma once

#include "base/units.h"

namespace geiger::capture {

struct Segment;

/// The answer for bytes that are not all mapped.
inline constexpr Bytes kNotMapped = ~Bytes{0};

/// Bytes of [address, address + bytes) on pages that are in memory; kNotMapped also where the
/// kernel does not say. `page_bytes` is a power of 2.
[[nodiscard]] Bytes resident_bytes(Address address, Bytes bytes, Bytes page_bytes);

/// Serves a request if there is a new one: at most 65,536 samples and 2^20 pages of them, as the
/// program waits meanwhile. What is left out has no record.
void serve_residency(Segment& segment);

}  // namespace geiger::capture
