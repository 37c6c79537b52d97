// Loaded modules: found lock-free, identified once, and distinguished if addresses are reused with
// other contents.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/unwind/cfi.h"
#include "runtime/unwind/unwind.h"

namespace geiger::unwind {

/// Addresses from `start` up to, not including, `end`.
/// The addresses of a loaded module (a link_map), from its program headers; an empty range if they
/// are not found. Works before init().
[[nodiscard]] AddressRange range_of(const void* link_map);

struct FoundModule {
  /// 0: more than kMaxModules.
  std::uint32_t id;
  /// Loaded with the program: never unloaded, so its rules never go stale.
  bool is_permanent;
  /// Its build id distinguishes it from any other module at its address, so rules may be kept and
  /// checked with `is_still`. Without one they are not kept.
  bool is_recognizable;
  Cfi cfi;
  /// Address where the kernel or the loader enters it; 0 = none.
  std::uint64_t entry_point;
};

/// Finds the loader's lookup of modules by address (glibc >= 2.35). Takes no lock, so it must run
/// before dlopen can change the loader's list, like the next function.
void find_loader_lookup();

/// Copies the list of loaded modules, which are permanent from now on.
void learn_permanent_modules();

/// The module that contains `pc`; false = the loader knows none.
[[nodiscard]] bool find_module(std::uint64_t pc, FoundModule& found);

/// The loadable segment of code that contains `pc`, as far as it is in the module's file; empty if
/// it is not readable. The module must stay loaded, as it does while one of its frames is on the
/// stack.
[[nodiscard]] ByteRange code_around(const FoundModule& module, std::uint64_t pc);

/// The nth loadable segment that is not code, as far as it is in the module's file. Null: no more.
[[nodiscard]] ByteRange data_of(const FoundModule& module, std::size_t n);

/// Whether `pc` is still in the recognizable module `id`.
[[nodiscard]] bool is_still(std::uint32_t id, std::uint64_t pc);

/// False disables the loader's lookup, as on glibc < 2.35: then only permanent modules are found.
void use_loader_lookup_for_testing(bool use);

}  // namespace geiger::unwind
