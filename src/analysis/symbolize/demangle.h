// Demangles names of symbol tables into names of the source: Itanium C++ and both manglings of
// Rust. Other languages pass through unchanged.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace geiger::symbolize {

/// Longer names stay mangled: the demanglers recurse with the length of the
/// name, and no compiler writes names like that on purpose.
inline constexpr std::size_t kMaxMangledBytes = std::size_t{64} << 10;

/// A demangled name longer than this is given up for the mangled one: short
/// names can expand without bound through back references.
inline constexpr std::size_t kMaxDemangledBytes = std::size_t{1} << 20;

/// The source name of `name`, or `name` itself if it is not mangled, mangled in
/// an unknown way, or too long. Rust's hash suffix is dropped.
[[nodiscard]] std::string demangle(std::string_view name);

/// Whether `name` starts like a name that demangle() understands.
[[nodiscard]] bool is_mangled(std::string_view name);

}  // namespace geiger::symbolize
