// Which frames at the leaf of a stack belong to the runtime or the allocator, not to their caller.
#pragma once

#include <cstddef>
#include <string_view>

#include "analysis/profile/recording.h"

namespace geiger::symbolize {

/// How many frames, leaf first and with each inlined frame counted, belong to
/// the runtime, to the allocator or to operator new. `stack` must be symbolized.
/// Never all of them: a stack keeps its outermost frame.
///
/// Thin wrappers (std::allocator, xmalloc) are the program's own and stay.
[[nodiscard]] std::size_t leading_runtime_frames(const profile::Recording& recording,
                                                 const profile::Stack& stack);

/// Whether all code of a module counts as allocator: the runtime, or the
/// library that provides malloc for `process` if it does nothing else (the C
/// library and the program do, so fopen and main stay).
[[nodiscard]] bool is_allocator_module(std::string_view path, const profile::Process& process);

/// Whether a module is the C library or its loader, by the name of its file.
[[nodiscard]] bool is_c_library(std::string_view path);

}  // namespace geiger::symbolize
