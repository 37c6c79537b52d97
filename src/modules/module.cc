#include "modules/module.h"

#include <dlfcn.h>
#include <sys/auxv.h>

#include <system_error>

namespace geiger::modules {
namespace {

namespace fs = std::filesystem;

fs::path own_executable() {
  std::error_code error;
  fs::path self = fs::read_symlink("/proc/self/exe", error);
  if (!error) return self;
  const auto* started_as = reinterpret_cast<const char*>(getauxval(AT_EXECFN));
  return started_as != nullptr ? fs::canonical(started_as, error) : fs::path();
}

}  // namespace

fs::path own_program() { return install_root() / "bin" / "geiger"; }

fs::path install_root() { return own_executable().parent_path().parent_path(); }

base::Outcome<void*> find_function(const char* module, const char* function) {
  const fs::path path = install_root() / "lib" / "geiger" / module;
  void* const loaded = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  void* const found = loaded != nullptr ? dlsym(loaded, function) : nullptr;
  if (found == nullptr) return base::Failure{dlerror()};
  return found;
}

}  // namespace geiger::modules
