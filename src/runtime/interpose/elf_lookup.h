// Finds the definition that a symbol would be bound to without this library. Does not use dlsym,
// which frees a pending dlerror result, and that free is ours.
//
// Threads: reads the loader's list without its lock. It runs at the first
// allocations of a process, before anything can have been unloaded, and once more
// at the first operator new. Signals / Fork: safe. Allocates: never.
#pragma once

#include <link.h>

#include <span>

namespace geiger::interpose {

/// A symbol's address and the module that defines it; null address = not found.
struct Definition {
  void* address = nullptr;
  const link_map* module = nullptr;
};

/// The first definition of `name` in a module after ours in the loader's list, which is the search
/// order of the global scope.
[[nodiscard]] Definition find_next(const char* name);

/// This library; null: not found.
[[nodiscard]] const link_map* own_module();

/// From now on find_next() searches all modules except ours: a library that is loaded into a
/// running process comes after the functions that it shadows in the search order.
void search_all_modules();

/// The definition of `name` in this module only.
[[nodiscard]] Definition find_in(const link_map* module, const char* name);

/// Whether a relocation of the module refers to one of the functions by name, so that it may call
/// it through the symbol table.
[[nodiscard]] bool refers_to(const link_map& module, std::span<const char* const> functions);

/// Whether functions of the allocator may call others of its family by name.
[[nodiscard]] bool calls_itself_by_name(const link_map* allocator);

}  // namespace geiger::interpose
