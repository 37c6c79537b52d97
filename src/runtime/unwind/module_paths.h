// Paths of modules, which stay there when the modules are unloaded.
#pragma once

#include <cstdint>

namespace geiger::unwind {

/// Keeps the path of a loaded module that begins at `start`, `name` being what the loader calls it.
/// "" if that is not known or does not fit. Takes no lock.
[[nodiscard]] const char* keep_path(const char* name, std::uint64_t start);

}  // namespace geiger::unwind
