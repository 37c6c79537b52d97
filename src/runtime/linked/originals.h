// The functions that the entry points of a static program shadow, by name. `--wrap=NAME` leads the
// program's calls of NAME to __wrap_NAME, which is ours, and __real_NAME to what they led to
// before.
#pragma once

namespace geiger::linked {

/// Null: the program has none of this name.
[[nodiscard]] void* find_original(const char* name);

}  // namespace geiger::linked
