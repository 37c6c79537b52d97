#include "analysis/naming/lambda_names.h"

#include <cstdint>
#include <limits>

#include "base/numbers.h"

namespace geiger::naming {
namespace {

constexpr std::string_view kClang = "$_";
constexpr std::string_view kLlvm = "'lambda";

/// The number `digits` plus `add`; as they are where they are no such number.
std::string raised(std::string_view digits, std::uint32_t add) {
  const auto number = base::number_in<std::uint32_t>(digits);
  if (!number || *number > std::numeric_limits<std::uint32_t>::max() - add) {
    return std::string(digits);
  }
  return std::to_string(*number + add);
}

}  // namespace

bool is_clang_unnamed(std::string_view word) {
  return word.starts_with(kClang) && word.size() > kClang.size() &&
         word.find_first_not_of("0123456789", kClang.size()) == std::string_view::npos;
}

std::string lambda_number(std::string_view word) {
  if (is_clang_unnamed(word)) return raised(word.substr(kClang.size()), 1);
  if (word.starts_with(kLlvm)) {
    const std::string_view rest = word.substr(kLlvm.size());
    const std::string_view digits = rest.substr(0, rest.find('\''));
    return digits.empty() ? "1" : raised(digits, 2);
  }
  const std::size_t mark = word.rfind('#');
  if (mark == std::string_view::npos) return "";
  return std::string(word.substr(mark + 1, word.find_first_of("}>", mark) - mark - 1));
}

}  // namespace geiger::naming
