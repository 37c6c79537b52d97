// A name with its brackets paired. Names come from symbol tables that anyone may have
// written: brackets need not balance, and nothing here recurses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace geiger::naming {

/// No position in a text.
inline constexpr std::size_t kNone = static_cast<std::size_t>(-1);

class Brackets {
 public:
  /// `text` must outlive this, and is at most 4 GiB long.
  explicit Brackets(std::string_view text);

  [[nodiscard]] std::string_view text() const { return text_; }
  [[nodiscard]] std::size_t size() const { return text_.size(); }
  [[nodiscard]] char at(std::size_t i) const { return i < text_.size() ? text_[i] : '\0'; }
  [[nodiscard]] std::string_view part(std::size_t begin, std::size_t end) const {
    return begin < end ? text_.substr(begin, end - begin) : std::string_view();
  }
  [[nodiscard]] bool has(std::size_t i, std::string_view what) const {
    return i <= text_.size() && text_.substr(i).starts_with(what);
  }

  /// The bracket that closes the one at `i`; kNone where there is none, or where
  /// it lies at or after `end`.
  [[nodiscard]] std::size_t closing(std::size_t i, std::size_t end = kNone) const;

  /// The first byte after the symbol of an operator whose `operator` ends at `i`:
  /// "<<" of "operator<<", "()" of "operator()"; `i` where there is no symbol.
  [[nodiscard]] static std::size_t after_operator(std::string_view text, std::size_t i);

 private:
  std::string_view text_;
  std::vector<std::uint32_t> closing_;  ///< Empty where the text has no bracket.
};

/// What identifiers are made of: also `$`, `.` of what compilers append, and all of UTF-8
/// that is not ASCII.
[[nodiscard]] bool is_identifier(char c);

}  // namespace geiger::naming
