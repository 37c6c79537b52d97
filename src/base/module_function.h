// A function of a module that is loaded when it is needed: what loads slowly is in such modules.
#pragma once

#include <dlfcn.h>

#include <string>

namespace geiger::base {

/// The function `name` of the module at `path`, which stays loaded. Null, with why in `reason`,
/// where either is missing or cannot be loaded.
template <typename Function>
[[nodiscard]] Function* module_function(const std::string& path, const char* name,
                                        std::string& reason) {
  void* const module = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  void* const found = module != nullptr ? dlsym(module, name) : nullptr;
  if (found == nullptr) reason = dlerror();
  return reinterpret_cast<Function*>(found);
}

}  // namespace geiger::base
