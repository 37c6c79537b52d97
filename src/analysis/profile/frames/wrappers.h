// Wrappers of allocation functions, found by what they do.
#pragma once

#include <span>

#include "analysis/profile/recording/recording.h"

namespace geiger::profile {

// my_malloc, pool_create and the like: functions that allocate nothing for themselves. Blaming them
// says nothing, so their callers are blamed. A function that is not known to be one stays blamed.
//
// A function is *direct* if 95 % of the sampled allocations in whose stacks it is were made by its
// own calls of one function: of an allocation function, from at most two places; or of a direct
// function, from one place. It wraps if besides it has
// - four callers, and these decide on the size: two places that call it have several samples each,
//   at each place of one size, and of different ones. A function that makes objects of one type
//   (make_node) has one size from everywhere, a container or a reader sizes of its data;
// - or three callers and a name that says it (`hint` in rules). So the slow path of an arena, which
//   allocates blocks of one size, is found.
// Direct functions below one that wraps are parts of it.

/// Adds the wrappers that the recordings show together to the rules that each is read by, unless
/// these want none or show plumbing. Recordings that are compared need the same. Requires names.
void find_wrappers(std::span<Recording* const> recordings);

}  // namespace geiger::profile
