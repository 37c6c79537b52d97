// Bounds-checked reads of loader-mapped tables.
//
// A read past the end gives 0, moves to the end and clears ok(): callers check
// once, after a group of reads.
#pragma once

#include <cstdint>
#include <cstring>

namespace geiger::unwind {

/// The bytes that may contain one module's tables.
struct ByteRange {
  const std::uint8_t* begin;
  const std::uint8_t* end;

  [[nodiscard]] bool holds(std::uint64_t address) const {
    return address >= reinterpret_cast<std::uint64_t>(begin) &&
           address < reinterpret_cast<std::uint64_t>(end);
  }
};

/// Pointer encodings of .eh_frame (LSB, "DWARF Exception Header Encoding").
inline constexpr std::uint8_t kEncodingOmit = 0xff;
inline constexpr std::uint8_t kEncodingFormat = 0x0f;
inline constexpr std::uint8_t kBaseNone = 0x00;
inline constexpr std::uint8_t kBasePc = 0x10;

/// Threads, signals: a value of its owner, no shared state.
class Cursor {
 public:
  /// `at` outside of `range` gives a cursor that is not ok.
  Cursor(const ByteRange& range, std::uint64_t at)
      : at_(range.holds(at) ? range.begin + (at - address_of(range.begin)) : range.end),
        end_(range.end),
        ok_(range.holds(at)) {}

  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] bool at_end() const { return at_ == end_; }
  [[nodiscard]] std::uint64_t address() const { return address_of(at_); }

  template <class Integer>
  Integer fixed() {
    Integer value{};
    if (static_cast<std::uint64_t>(end_ - at_) < sizeof value) return fail<Integer>();
    std::memcpy(&value, at_, sizeof value);
    at_ += sizeof value;
    return value;
  }
  std::uint8_t u8() { return fixed<std::uint8_t>(); }
  std::uint32_t u32() { return fixed<std::uint32_t>(); }

  std::uint64_t uleb() {
    if (at_ != end_ && *at_ < 0x80) [[likely]] {
      return *at_++;
    }
    unsigned shift = 0;
    return leb(shift);
  }
  std::int64_t sleb() {
    unsigned shift = 0;
    std::uint64_t value = leb(shift);
    const bool negative = shift <= 64 && shift != 0 && (value >> (shift - 1) & 1) != 0;
    if (negative && shift < 64) value |= ~std::uint64_t{0} << shift;
    return static_cast<std::int64_t>(value);
  }

  void skip(std::uint64_t bytes) {
    if (bytes > static_cast<std::uint64_t>(end_ - at_)) {
      fail<int>();
    } else {
      at_ += bytes;
    }
  }

  /// The next `bytes` as a separate cursor; this one moves past them.
  Cursor take(std::uint64_t bytes) {
    Cursor part = *this;
    skip(bytes);
    part.end_ = at_;
    part.ok_ = ok_;
    if (!ok_) part.at_ = part.end_;
    return part;
  }

  /// A pointer in `encoding`; indirect, text-, data- and function-relative ones
  /// do not occur where we follow pointers and are refused.
  std::uint64_t pointer(std::uint8_t encoding) {
    const std::uint64_t here = address();
    const std::uint64_t value = number(encoding & kEncodingFormat);
    switch (encoding & ~kEncodingFormat) {
      case kBaseNone:
        return value;
      case kBasePc:
        return here + value;
      default:
        return fail<std::uint64_t>();
    }
  }

  /// A number in one of the encoding formats.
  std::uint64_t number(std::uint8_t format) {
    switch (format) {
      case 0x00:
      case 0x04:
      case 0x0c:
        return fixed<std::uint64_t>();
      case 0x01:
        return uleb();
      case 0x02:
        return fixed<std::uint16_t>();
      case 0x03:
        return fixed<std::uint32_t>();
      case 0x09:
        return static_cast<std::uint64_t>(sleb());
      case 0x0a:
        return static_cast<std::uint64_t>(std::int64_t{fixed<std::int16_t>()});
      case 0x0b:
        return static_cast<std::uint64_t>(std::int64_t{fixed<std::int32_t>()});
      default:
        return fail<std::uint64_t>();
    }
  }

 private:
  static std::uint64_t address_of(const std::uint8_t* byte) {
    return reinterpret_cast<std::uint64_t>(byte);
  }

  template <class Value>
  Value fail() {
    ok_ = false;
    at_ = end_;
    return Value{};
  }

  // Bits beyond 64 are dropped, as every producer pads with zero or sign bits.
  std::uint64_t leb(unsigned& shift) {
    std::uint64_t value = 0;
    for (;;) {
      const std::uint8_t byte = u8();
      if (!ok_) return 0;
      if (shift < 64) value |= std::uint64_t{byte & 0x7fU} << shift;
      shift = shift < 64 ? shift + 7 : shift;
      if ((byte & 0x80) == 0) return value;
    }
  }

  const std::uint8_t* at_;
  const std::uint8_t* end_;
  bool ok_;
};

}  // namespace geiger::unwind
