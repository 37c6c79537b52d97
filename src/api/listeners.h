// The program's listeners, which are called with samples and frees. The capture has room for one
// function, which calls them all.
//
// A place of the table goes through kFree -> kTaken -> kActive -> kEnding -> kFree;
// kFailed (its listener threw) is like kActive but not called.
//
// Removal. A caller raises `calls` before it looks at `state`, a remover changes `state`
// before it looks at `calls`, both sequentially consistently: so either the caller sees that it
// must not call, or the remover sees the call and waits for its end. A listener may not remove
// listeners, so that two of them cannot wait for each other.
#pragma once

#include <cstdint>

#include "geiger/geiger.h"

namespace geiger::api {

/// Number of listeners added and not removed.
[[nodiscard]] std::uint32_t listener_count();

/// Fills in the listeners' part of a status.
void describe_listeners(geiger_recorder& out);

/// In a fork's child: forgets the calls of other threads.
void restart_listeners_in_child();

}  // namespace geiger::api
