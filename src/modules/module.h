// Where geiger's own files are, and the modules among them: shared objects in lib/geiger, each for
// libraries that few verbs need. `geiger run` starts before every program that it profiles, and
// loading a library takes the time of that program.
//
// A module is built by geiger_module() of cmake/Zones.cmake, together with geiger: both know the
// same types. It stays loaded.
#pragma once

#include <filesystem>
#include <type_traits>

#include "base/outcome.h"

namespace geiger::modules {

/// The prefix that this executable was installed into: the folder above its own, with lib and
/// share.
[[nodiscard]] std::filesystem::path install_root();

/// This executable, to be started again. /proc/self/exe would be the loader, where geiger came with
/// one of its own (cmake/tarball).
[[nodiscard]] std::filesystem::path own_program();

/// Loads a module by the name of its file. Fails where it is missing or cannot be loaded, or has no
/// such function.
[[nodiscard]] base::Outcome<void*> find_function(const char* module, const char* function);

/// Calls a function of a module, whose type is that of its declaration; it returns a pointer.
template <typename Function, typename... Arguments>
[[nodiscard]] base::Outcome<std::invoke_result_t<Function*, Arguments...>> call(
    const char* module, const char* function, Arguments... arguments) {
  const auto found = GEIGER_TRY(find_function(module, function));
  return reinterpret_cast<Function*>(found)(arguments...);
}

}  // namespace geiger::modules
