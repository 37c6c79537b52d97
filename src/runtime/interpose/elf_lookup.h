// Finds the definition that a symbol would be bound to without this library. Does not use dlsym,
// which frees a pending dlerror result, and that free is ours.
//
// Threads: reads the loader's list without its lock. It runs at the first
// allocations of a process, before anything can have been unloaded, and once more
// at the first operator new. Signals / Fork: safe. Allocates: never.
#pragma once

#include <link.h>

#include <atomic>
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

// Fills a table of originals: the first call of a function resolves its family.

/// First call of a function: resolves its family, then calls the original.
template <auto& kTable, auto kMember, void (*kResolve)()>
struct FirstCall;
template <class Table, Table& kTable, class R, class... A, R (*Table::*kMember)(A...),
          void (*kResolve)()>
struct FirstCall<kTable, kMember, kResolve> {
  static R call(A... arguments) {
    kResolve();
    // NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage): no original is ever null.
    return (kTable.*kMember)(arguments...);
  }
};
/// Does not change `target` if nothing was found.
template <class F>
void assign(F*& target, const Definition& definition) {
  if (definition.address != nullptr) target = reinterpret_cast<F*>(definition.address);
}

/// A family's flag is set last, with release, and tested first, with acquire: a thread that sees it
/// set sees the functions that another one found. Entry points read the tables without it: before,
/// they find a first call, which tests the flag. So slots may be changed without a barrier
/// (attach.cc).
inline bool is_set(const std::atomic<bool>& flag) { return flag.load(std::memory_order_acquire); }
inline void set(std::atomic<bool>& flag) { flag.store(true, std::memory_order_release); }

}  // namespace geiger::interpose
