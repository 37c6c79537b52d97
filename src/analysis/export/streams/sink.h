// Where an export goes, piece by piece, so that no format is held whole.
#pragma once

#include <cstddef>
#include <functional>
#include <string_view>

namespace geiger::exports {

/// Takes the next bytes of the output. What it does about errors is its own
/// business (the command line remembers the first one).
using Sink = std::function<void(std::string_view)>;

/// A sink gets text in pieces of about this many bytes.
inline constexpr std::size_t kFlushAt = std::size_t{1} << 16;

}  // namespace geiger::exports
