// Documents as rows of ClickHouse's tables.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "fleet/document/document.h"
#include "fleet/store/store.h"

namespace geiger::fleet {

// Rows as ClickHouse takes them: RowBinary, each column in turn, as its type is laid out.

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

/// Rows of a table.
struct TableRows {
  const char* table = "";
  const char* columns = "";  ///< "a, b"
  std::string bytes;         ///< RowBinary; may be empty.
};

/// In the order in which they are to be inserted: those of the window come last, and commit it.
[[nodiscard]] std::vector<TableRows> rows_of(const Document& document, std::uint64_t content);
/// Their names.
[[nodiscard]] TableRows frames_of(const std::vector<Location>& locations);

[[nodiscard]] TableRows sites_of(const std::vector<SiteRow>& sites);

}  // namespace geiger::fleet
