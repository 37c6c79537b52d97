#include "analysis/profile/frames/allocation_functions.h"

#include <algorithm>
#include <array>

namespace geiger::profile {
namespace {

constexpr std::array<std::string_view, 18> kEntryPoints = {
    "malloc",        "calloc",  "realloc", "reallocarray", "memalign",    "posix_memalign",
    "aligned_alloc", "valloc",  "pvalloc", "cfree",        "free",        "mallocx",
    "rallocx",       "xallocx", "new",     "newarray",     "new_aligned", "newarray_aligned"};

constexpr std::array<std::string_view, 10> kAllocatorPrefixes = {
    "__libc_", "__GI___libc_", "__GI_", "je_", "_rjem_", "tc_", "_mi_", "mi_", "mi_heap_", "__"};

bool is_entry_point(std::string_view name) {
  return std::find(kEntryPoints.begin(), kEntryPoints.end(), name) != kEntryPoints.end();
}

/// "operator new(unsigned long)", "operator new[]", "void* operator new<...>".
bool is_operator_new(std::string_view name) {
  constexpr std::string_view kNew = "operator new";
  if (!name.starts_with(kNew)) return false;
  name.remove_prefix(kNew.size());
  if (name.starts_with("[]")) name.remove_prefix(2);
  return name.empty() || name.starts_with('(');
}

/// Suffixes of clones: "malloc.part.0", "malloc [clone .cold]", "malloc (.cold)".
std::string_view without_clone(std::string_view name) {
  return name.substr(0, name.find_first_of(". "));
}

/// Rust's `alloc` and `realloc`, the allocator `Global` that calls them for boxes and vectors, and
/// the layers under them, of the standard library and of the compiler ("__rdl_alloc", since 2025
/// in a module "__rustc").
bool is_rust_allocation(std::string_view name) {
  if (name.starts_with("alloc::alloc::") || name.starts_with("<alloc::alloc::Global")) return true;
  constexpr std::array<std::string_view, 4> kLayers = {"__rust_", "__rdl_", "__rg_", "__rustc::"};
  constexpr std::string_view kSystem = "std::sys::alloc::unix::aligned_malloc";
  if (name == kSystem || name == "std::sys::alloc::realloc_fallback") return true;
  if (name.starts_with("<std::alloc::System as core::alloc::global::GlobalAlloc>::")) return true;
  if (name.find("GlobalAlloc for std::alloc::System>::") != std::string_view::npos) return true;
  const bool is_layer = std::any_of(kLayers.begin(), kLayers.end(), [&](std::string_view layer) {
    return name.starts_with(layer);
  });
  return is_layer && name.find("alloc") != std::string_view::npos;
}

/// Between what allocates a type and what allocates bytes.
constexpr std::array<std::string_view, 14> kPassOn{"alloc::alloc::",
                                                   "<alloc::alloc::Global>::",
                                                   "<alloc::alloc::Global as ",
                                                   "alloc::boxed::box_new_uninit",
                                                   "alloc::raw_vec::finish_",
                                                   "alloc::raw_vec::RawVecInner<",
                                                   "<alloc::raw_vec::RawVecInner",
                                                   "hashbrown::raw::RawTableInner::",
                                                   "<hashbrown::raw::RawTableInner>::",
                                                   "hashbrown::raw::alloc::inner::do_alloc",
                                                   "std::__1::__libcpp_allocate",
                                                   "std::__1::__libcpp_operator_new",
                                                   "void* std::__1::__libcpp_operator_new",
                                                   "std::__allocate_guarded"};

}  // namespace

bool is_allocation_function(std::string_view name) {
  if (is_operator_new(name) || is_rust_allocation(name)) return true;
  const std::string_view plain = without_clone(name);
  if (plain != "new" && plain != "newarray" && is_entry_point(plain)) return true;
  return std::any_of(
      kAllocatorPrefixes.begin(), kAllocatorPrefixes.end(), [&](std::string_view prefix) {
        return plain.starts_with(prefix) && is_entry_point(plain.substr(prefix.size()));
      });
}

bool passes_allocation_on(std::string_view function) {
  return std::ranges::any_of(kPassOn,
                             [&](std::string_view start) { return function.starts_with(start); });
}

}  // namespace geiger::profile
