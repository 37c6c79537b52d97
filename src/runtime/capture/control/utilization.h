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
#pragma once

#include <cstddef>
#include <cstdint>

namespace geiger::capture {

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
