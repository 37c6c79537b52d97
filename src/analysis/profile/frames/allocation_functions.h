// Which functions allocate memory themselves, by their names: what the entry points are called in
// C, C++, Rust and the usual allocators. Wrappers that programs write are not among them;
// frame_roles.h handles those.
#pragma once

#include <string_view>

namespace geiger::profile {

/// Whether a function of this name allocates memory itself: malloc and its kin,
/// operator new, Rust's global allocator and `Global`, and what jemalloc, tcmalloc and
/// mimalloc call theirs.
[[nodiscard]] bool is_allocation_function(std::string_view name);

/// Whether the function only passes an allocation on, so that its caller determines
/// the type: what lies between an allocator of typed objects and one of bytes.
[[nodiscard]] bool passes_allocation_on(std::string_view function);

}  // namespace geiger::profile
