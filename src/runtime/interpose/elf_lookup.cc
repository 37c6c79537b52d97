#include "runtime/interpose/elf_lookup.h"

#include "base/loaded_symbol.h"
#include "base/loader.h"

namespace geiger::interpose {
namespace {

constinit bool searches_all = false;

}  // namespace

void search_all_modules() { searches_all = true; }

const link_map* own_module() {
  const link_map* module = base::first_module();
  while (module != nullptr && module->l_ld != _DYNAMIC) module = module->l_next;
  return module;
}

Definition find_in(const link_map* module, const char* name) {
  void* address = base::find_symbol(module, name);
  return address == nullptr ? Definition{} : Definition{address, module};
}

bool calls_itself_by_name(const link_map* allocator) {
  const bool is_c_library = find_in(allocator, "__libc_start_main").address != nullptr;
  return is_c_library && find_in(allocator, "gnu_get_libc_version").address == nullptr;
}

Definition find_next(const char* name) {
  bool is_candidate = searches_all;
  for (const link_map* module = base::first_module(); module != nullptr; module = module->l_next) {
    const bool is_own = module->l_ld == _DYNAMIC;
    if (is_candidate && !is_own) {
      if (const Definition found = find_in(module, name); found.address != nullptr) return found;
    }
    is_candidate = is_candidate || is_own;
  }
  return {};
}

}  // namespace geiger::interpose
