// UTF-8 of untrusted bytes: nothing is assumed to be valid.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/check.h"

namespace geiger {

/// The start of a text: a code point, or one byte that does not start one.
struct CodePoint {
  char32_t value = 0;
  std::size_t length = 1;  ///< Bytes consumed, at least 1.
  bool is_valid = false;   ///< False: `value` is the one byte.
};

namespace detail {

constexpr std::size_t length_of_lead(unsigned char lead) {
  if (lead < 0x80) return 1;
  if (lead >= 0xc2 && lead <= 0xdf) return 2;
  if (lead >= 0xe0 && lead <= 0xef) return 3;
  if (lead >= 0xf0 && lead <= 0xf4) return 4;
  return 0;
}

constexpr bool is_well_formed(char32_t value, std::size_t length) {
  constexpr char32_t kLeast[5] = {0, 0, 0x80, 0x800, 0x10000};
  const bool is_surrogate = value >= 0xd800 && value <= 0xdfff;
  return value >= kLeast[length] && value <= 0x10ffff && !is_surrogate;
}

}  // namespace detail

/// The code point that `text` starts with. Requires a non-empty `text`; refuses
/// overlong forms, surrogates and values above U+10FFFF.
constexpr CodePoint decode_utf8(std::string_view text) {
  GEIGER_ASSERT(!text.empty());
  const auto lead = static_cast<unsigned char>(text.front());
  const std::size_t length = detail::length_of_lead(lead);
  if (length == 0 || length > text.size()) return {lead, 1, false};
  if (length == 1) return {lead, 1, true};
  char32_t value = lead & (0x7fU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    const auto next = static_cast<unsigned char>(text[i]);
    if ((next & 0xc0U) != 0x80U) return {lead, 1, false};
    value = value << 6 | (next & 0x3fU);
  }
  if (!detail::is_well_formed(value, length)) return {lead, 1, false};
  return {value, length, true};
}

}  // namespace geiger
