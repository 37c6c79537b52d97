#include "analysis/page/plumbing.h"

#include <algorithm>
#include <array>

#include "analysis/profile/labels.h"
#include "analysis/profile/type_rules.h"
#include "analysis/symbolize/trim.h"

namespace geiger::page {
namespace {

/// Namespaces and crates of standard libraries, with the brackets of Rust's implementations.
constexpr std::array<std::string_view, 12> kScopes = {
    "std::",    "__gnu_cxx::", "__cxxabiv1::", "boost::", "absl::",   "alloc::",
    "<alloc::", "core::",      "<core::",      "<std::",  "runtime.", "decltype(auto) std::"};

/// What runs before main and below threads.
constexpr std::array<std::string_view, 9> kStarts = {
    "_start", "__libc_start_main",      "__libc_start_call_main",        "start_thread",  "clone",
    "clone3", "__libc_start_main_impl", "execute_native_thread_routine", "_dl_start_user"};

constexpr std::array<std::string_view, 7> kLibraries = {
    "libc.so", "libc-2.", "libstdc++.so", "libc++.", "libc++abi.so", "libpthread", "libgcc_s"};

/// The name behind the type that a function template returns: "std::move<int>" of
/// "int&& std::move<int>(int&)". Spaces within brackets belong to types.
std::string_view without_return_type(std::string_view name) {
  int depth = 0;
  std::size_t start = 0;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name.substr(i).starts_with("operator")) break;
    if (name[i] == '(' && depth == 0 && i > start) break;
    if (name[i] == '<' || name[i] == '(') ++depth;
    if (name[i] == '>' || name[i] == ')') --depth;
    if (name[i] == ' ' && depth == 0) start = i + 1;
  }
  return name.substr(start);
}

template <typename Texts>
bool starts_with_any(std::string_view text, const Texts& starts) {
  return std::ranges::any_of(starts,
                             [&](std::string_view start) { return text.starts_with(start); });
}

}  // namespace

bool is_plumbing(std::string_view function, std::string_view module_path) {
  if (std::ranges::find(kStarts, function) != kStarts.end()) return true;
  const std::string_view file = profile::file_name_of(module_path);
  if (starts_with_any(file, kLibraries) || file.starts_with("ld-linux")) return true;
  if (symbolize::is_allocation_function(function) || profile::passes_allocation_on(function)) {
    return true;
  }
  return starts_with_any(without_return_type(function), kScopes);
}

}  // namespace geiger::page
