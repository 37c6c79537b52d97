// Builds text in a buffer of fixed size, without libc's formatting and without allocating.
//
// Threads: one. Signals / Fork: safe. Allocates: never.
#pragma once

#include <cstddef>
#include <cstdint>

namespace geiger::base {

/// What does not fit makes the text unusable, not shorter: see fits().
class TextBuilder {
 public:
  /// `to` holds `room` > 0 bytes; the text there is always terminated.
  TextBuilder(char* to, std::size_t room) : to_(to), room_(room) { to_[0] = '\0'; }

  TextBuilder& append(char c) {
    if (used_ + 1 < room_) {
      to_[used_] = c;
      to_[used_ + 1] = '\0';
    }
    ++used_;
    return *this;
  }
  TextBuilder& append(const char* text) {
    for (; *text != '\0'; ++text) append(*text);
    return *this;
  }
  /// In decimal.
  TextBuilder& append(std::uint64_t number) {
    char digits[20];
    int count = 0;
    do {
      digits[count++] = static_cast<char>('0' + number % 10);
      number /= 10;
    } while (number != 0);
    while (count > 0) append(digits[--count]);
    return *this;
  }
  /// Whether all that was appended is there.
  [[nodiscard]] bool fits() const { return used_ < room_; }

 private:
  char* to_;
  std::size_t room_;
  std::size_t used_ = 0;
};

}  // namespace geiger::base
