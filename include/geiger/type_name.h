// The name of a type as text, without run-time type information.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

namespace geiger {
namespace type_name_detail {

// "... [with T = NAME]" or, followed by other aliases, "... [with T = NAME; ...]" in g++,
// "... [T = NAME]" in clang++.
template <class T>
constexpr std::string_view spelled() {
  constexpr std::string_view kText = __PRETTY_FUNCTION__;
  constexpr std::size_t kBegin = kText.find("T = ") + 4;
#if defined(__clang__)
  constexpr std::size_t kEnd = kText.rfind(']');
#else
  constexpr std::size_t kEnd = kText.rfind("; std::string_view = ");
#endif
  static_assert(kEnd != std::string_view::npos && kBegin < kEnd);
  return kText.substr(kBegin, kEnd - kBegin);
}

template <class T, std::size_t... Index>
constexpr std::array<char, sizeof...(Index) + 1> terminated(std::index_sequence<Index...>) {
  return {spelled<T>()[Index]..., '\0'};
}

template <class T>
inline constexpr auto kName = terminated<T>(std::make_index_sequence<spelled<T>().size()>());

}  // namespace type_name_detail

/// T as the compiler spells it, for example "std::pair<int, long int>". One address per type
/// and module, valid for ever.
template <class T>
constexpr const char* type_name() {
  return type_name_detail::kName<T>.data();
}

}  // namespace geiger
