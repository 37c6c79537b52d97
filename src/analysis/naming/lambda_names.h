// How compilers and demanglers write lambdas.
#pragma once

#include <string>
#include <string_view>

namespace geiger::naming {

/// `$_3`, clang's word for any type without a name.
[[nodiscard]] bool is_clang_unnamed(std::string_view word);

/// Which of the lambdas of a function it is: "2" of "{lambda(int)#2}", "<lambda(int)#2>",
/// "'lambda0'" and "$_1"; empty where `word` does not say.
[[nodiscard]] std::string lambda_number(std::string_view word);

}  // namespace geiger::naming
