#include "runtime/interpose/private_frees.h"

#include <link.h>

#include <algorithm>
#include <iterator>

#include "base/loader.h"
#include "runtime/interpose/elf_lookup.h"

namespace geiger::interpose {
namespace {

/// Functions of jemalloc, mimalloc and tcmalloc.
constexpr const char* kPrivate[] = {
    "sdallocx", "dallocx", "rallocx",  "xallocx",    "sallocx",       "je_free",
    "mi_free",  "tc_free", "mi_cfree", "mi_realloc", "tc_free_sized", "mi_free_size",
};

bool has_private(const link_map* allocator) {
  return std::any_of(std::begin(kPrivate), std::end(kPrivate), [allocator](const char* name) {
    return find_in(allocator, name).address != nullptr;
  });
}

}  // namespace

bool frees_privately(const link_map* allocator) {
  if (allocator == nullptr || !has_private(allocator)) return false;
  for (const link_map* module = base::first_module(); module != nullptr; module = module->l_next) {
    if (module != allocator && refers_to(*module, kPrivate)) return true;
  }
  return false;
}

}  // namespace geiger::interpose
