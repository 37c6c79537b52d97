#include "serve/token.h"

#include <sys/random.h>

#include <algorithm>
#include <array>

#include "base/hex.h"

namespace geiger::serve {
namespace {

constexpr std::size_t kShortestToken = 8, kLongestToken = 128;

}  // namespace

std::string random_token() {
  std::array<unsigned char, 16> bytes{};
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) return {};
  return base::hex_of(bytes);
}

bool is_token(const std::string& text) {
  const auto is_allowed = [](unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_';
  };
  return text.size() >= kShortestToken && text.size() <= kLongestToken &&
         std::all_of(text.begin(), text.end(), is_allowed);
}

}  // namespace geiger::serve
