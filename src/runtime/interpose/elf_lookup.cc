#include "runtime/interpose/elf_lookup.h"

#include "base/loaded_symbol.h"

namespace geiger::interpose {

Definition find_in(const link_map* module, const char* name) {
  void* address = base::find_symbol(module, name);
  return address == nullptr ? Definition{} : Definition{address, module};
}

Definition find_next(const char* name) {
  bool is_behind_us = false;
  for (const link_map* module = _r_debug.r_map; module != nullptr; module = module->l_next) {
    if (is_behind_us) {
      if (const Definition found = find_in(module, name); found.address != nullptr) return found;
    }
    is_behind_us = is_behind_us || module->l_ld == _DYNAMIC;
  }
  return {};
}

}  // namespace geiger::interpose
