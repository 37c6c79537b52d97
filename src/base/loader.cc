#include "base/loader.h"

#include <elf.h>
#include <sys/auxv.h>

#include <cstdint>

#include "base/loaded_symbol.h"

extern "C" void* __libc_stack_end;  // NOLINT: the loader's name.

// Wherever the loader defines them: glibc's.
#pragma weak _r_debug
#pragma weak __libc_stack_end

namespace geiger::base {
namespace {

/// The loader's list as debuggers find it: any loader writes its address into the executable.
const r_debug* list_for_debuggers() {
  const auto* headers = reinterpret_cast<const ElfW(Phdr)*>(getauxval(AT_PHDR));
  const std::size_t count = getauxval(AT_PHNUM);
  std::uintptr_t bias = 0;
  const ElfW(Dyn)* dynamic = nullptr;
  for (std::size_t i = 0; i < count; ++i) {
    if (headers[i].p_type == PT_PHDR) {
      bias = reinterpret_cast<std::uintptr_t>(headers) - headers[i].p_vaddr;
    }
    if (headers[i].p_type == PT_DYNAMIC) {
      dynamic = reinterpret_cast<const ElfW(Dyn)*>(bias + headers[i].p_vaddr);
    }
  }
  for (; dynamic != nullptr && dynamic->d_tag != DT_NULL; ++dynamic) {
    if (dynamic->d_tag == DT_DEBUG) return reinterpret_cast<const r_debug*>(dynamic->d_un.d_ptr);
  }
  return nullptr;
}

}  // namespace

const link_map* first_module() {
  if (&_r_debug != nullptr) return _r_debug.r_map;
  const r_debug* list = list_for_debuggers();
  return list == nullptr ? nullptr : list->r_map;
}

void* find_function(const char* name) {
  for (const link_map* module = first_module(); module != nullptr; module = module->l_next) {
    if (void* found = find_symbol(module, name); found != nullptr) return found;
  }
  return nullptr;
}

/// Without the loader's word: the name of the executable, which the kernel put after everything
/// else on that stack.
void* first_stack() {
  if (&__libc_stack_end != nullptr) return __libc_stack_end;
  return nullptr;
}

}  // namespace geiger::base
