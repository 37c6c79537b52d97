// Records how much of each live sample is resident, by asking the kernel on request.
//
// Normally the observer reads this from outside. Without the permission it changes a word of the
// control page; the next slow path that sees the new word calls mincore, which works only inside
// the process, and records the results.
//
// Threads: one thread serves a request. Signals: safe; 256 bytes of stack. Fork: a child serves
// requests of its own control page. Allocates: never. Once the program has confined itself, no
// system call is made and requests are not answered.
#pragma once

#include "base/units.h"

namespace geiger::capture {

struct Segment;

/// Result if some of the bytes are not mapped.
inline constexpr Bytes kNotMapped = ~Bytes{0};

/// Bytes of [address, address + bytes) on pages that are in memory; kNotMapped also if mincore
/// fails. `page_bytes` is a power of 2.
[[nodiscard]] Bytes resident_bytes(Address address, Bytes bytes, Bytes page_bytes);

/// Serves a request if there is a new one: at most 65,536 samples with at most 2^20 pages, because
/// the program waits meanwhile. Samples beyond that have no record.
void serve_residency(Segment& segment);

}  // namespace geiger::capture
