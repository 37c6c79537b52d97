// Rows as ClickHouse takes them: RowBinary, each column in turn, as its type is laid out.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace geiger::fleet {

static_assert(std::endian::native == std::endian::little);

class RowBinary {
 public:
  /// Of the width of its column.
  template <std::integral T>
  RowBinary& number(std::type_identity_t<T> value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  RowBinary& text(std::string_view value) {
    length(value.size());
    bytes_.append(value);
    return *this;
  }
  /// An array; `put` appends one of its elements.
  template <typename Range, typename Put>
  RowBinary& array(const Range& range, const Put& put) {
    length(range.size());
    for (const auto& element : range) put(element);
    return *this;
  }

  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  void length(std::size_t size) {
    constexpr std::size_t kContinues = 0x80;
    for (; size >= kContinues; size >>= 7) bytes_ += static_cast<char>(size | kContinues);
    bytes_ += static_cast<char>(size);
  }

  std::string bytes_;
};

}  // namespace geiger::fleet
