// Records how full the slabs of live samples are, by asking the allocator on request.
//
// Only jemalloc answers (experimental.utilization.batch_query, 5.2 and later), and only inside its
// process. So the observer changes a word of the control page, and the next slow path that sees the
// new word asks for all live samples at once and records the answers. It asks only if the user
// wanted fragmentation.
//
// Threads: the request is served by one. Signals: not within a handler's allocation more
// than its allocation is itself. Fork: a child serves requests of its own control page.
// Allocates: never. The query takes no lock and makes no system call after its first use.
#pragma once

#include <cstddef>
#include <cstdint>

namespace geiger::capture {

struct Segment;

/// jemalloc's control function.
using Mallctl = int (*)(const char* name, void* old, std::size_t* old_bytes, void* fresh,
                        std::size_t fresh_bytes);

/// Null: the allocator has none. Set once, before the first sample.
void set_mallctl(Mallctl mallctl);

/// Serves a request if there is a new one: call it where the thread is outside of every
/// allocator. More live samples than 65,536 get no answer: it would take too long.
void serve_utilization(Segment& segment);

}  // namespace geiger::capture
