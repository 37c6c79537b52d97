// Answers to requests on the control page that concern all live samples: their residency, how full
// their slabs are.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/units.h"

namespace geiger::capture {

// Records how much of each live sample is resident, by asking the kernel on request.
//
// Normally the observer reads this from outside. Without the permission it changes a word of the
// control page; the next slow path that sees the new word calls mincore, which works only inside
// the process, and records the results.
//
// Threads: one thread serves a request. Signals: safe; 256 bytes of stack. Fork: a child serves
// requests of its own control page. Allocates: never. Once the program has confined itself, no
// system call is made and requests are not answered.

struct Segment;

/// Result if some of the bytes are not mapped.
inline constexpr Bytes kNotMapped = ~Bytes{0};

/// Bytes of [address, address + bytes) on pages that are in memory; kNotMapped also if mincore
/// fails. `page_bytes` is a power of 2.
[[nodiscard]] Bytes resident_bytes(Address address, Bytes bytes, Bytes page_bytes);

/// Serves a request if there is a new one: at most 65,536 samples with at most 2^20 pages, because
/// the program waits meanwhile. Samples beyond that have no record.
void serve_residency(Segment& segment);

// Records how full the slabs of live samples are, by asking the allocator on request.
//
// Only jemalloc supports this (experimental.utilization.batch_query, 5.2 and later), and only
// inside its process. So the observer changes a word of the control page, and the next slow path
// that sees the new word queries all live samples and records the answers. The observer does so
// only if the user asked for fragmentation.
//
// Threads: one thread serves a request. Signals: as safe within a handler as the handler's
// allocation itself. Fork: a child serves requests of its own control page.
// Allocates: never. The query takes no lock and makes no system call after its first use.

struct Segment;

/// jemalloc's control function.
using Mallctl = int (*)(const char* name, void* old, std::size_t* old_bytes, void* fresh,
                        std::size_t fresh_bytes);

/// Null: not available in this allocator. Set once, before the first sample.
void set_mallctl(Mallctl mallctl);

/// Serves a request if there is a new one. Call it while the thread is outside of every allocator.
/// With more than 65,536 live samples there is no answer: it would take too long.
void serve_utilization(Segment& segment);

}  // namespace geiger::capture
