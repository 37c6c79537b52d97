// The program's listeners, which are called with samples and frees. The capture has room for one
// function, which calls them all.
//
// A place of the table goes through kFree -> kTaken -> kActive -> kEnding -> kFree;
// kFailed (its listener threw) stands for kActive but is not called.
//
// Removal. A caller raises `calls` before it looks at `state`, a remover changes `state`
// before it looks at `calls`, both sequentially consistently: so either the caller sees
// that it must not call, or the remover sees the call and waits for its end. Ending in a
// listener is refused, so that two of them cannot wait for each other.
#pragma once

#include <cstdint>

#include "geiger/geiger.h"

namespace geiger::api {

/// Listeners that were added and not removed.
[[nodiscard]] std::uint32_t listener_count();

/// Fills in the listeners' part of a status.
void describe_listeners(geiger_recorder& out);

/// In a fork's child no call of another thread is under way.
void restart_listeners_in_child();

}  // namespace geiger::api
