// What the name of an allocating function says about the type of what it allocates.
//
// Only functions that exist to allocate objects of a type they name are considered:
// `std::allocator<T>::allocate`, `std::make_unique<T>`, `Box<T>::new`. A constructor T::T that
// calls operator new is not one of them: it allocates a part of a T, not a T.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace geiger::profile {

/// The type that a demangled function allocates: "Request" of
/// "std::__new_allocator<Request>::allocate(unsigned long, void const*)". Nodes of the
/// standard library's containers are shown as what they hold: "std::pair<int const, Request>"
/// of a map. Nothing if the function allocates no type that it names.
[[nodiscard]] std::optional<std::string> type_allocated_by(std::string_view function);

}  // namespace geiger::profile
