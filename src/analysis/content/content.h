// What the live samples of a running process contain: read from outside, without stopping it.
//
// Samples are looked at once for zero bytes; then one pass over the heap counts the blocks that
// equal each of them, and those with copies are looked at again. No byte of the program and no hash
// of one leaves this room: the answer is counts.
#pragma once

#include <sys/types.h>

#include <string>

#include "analysis/profile/recording/observations.h"

namespace geiger::content {

/// Of process `pid`, which writes `trace`: Observations::last_content and content_at_maximum, which
/// are the same, or content_fault. Samples are named by the references of their records.
///
/// Brings nothing into the process's memory. Takes below 64 MiB of memory, and about half a second
/// of processor time per GiB of heap; more where blocks are small (docs/guide/content.md).
[[nodiscard]] profile::Observations read_content(pid_t pid, const std::string& trace);

}  // namespace geiger::content
