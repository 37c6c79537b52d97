#include "runtime/python/code.h"

#include <algorithm>

namespace geiger::python {
namespace {

// Offsets in objects, the same in 3.8 to 3.14.
constexpr Address kSize = 16;  ///< Of bytes: their number. Of a string: its characters.
constexpr Address kBytesData = 32;
constexpr Address kStringState = 32;  ///< u32: kind in bits 2 to 4, compact bit 5, ASCII bit 6.
constexpr std::uint64_t kLongestTable = std::uint64_t{1} << 20;

std::uint64_t mix(std::uint64_t hash, std::uint64_t word) {
  hash = (hash ^ word) * 0x9fb21c651e98df25U;
  return hash ^ hash >> 29;
}

std::size_t put_utf8(std::uint32_t character, char* to, std::size_t room) {
  const std::size_t length = character < 0x80      ? 1
                             : character < 0x800   ? 2
                             : character < 0x10000 ? 3
                                                   : 4;
  if (length > room) return 0;
  if (length == 1) {
    *to = static_cast<char>(character);
    return 1;
  }
  for (std::size_t i = length - 1; i > 0; --i, character >>= 6) {
    to[i] = static_cast<char>(0x80 | (character & 0x3f));
  }
  to[0] = static_cast<char>((0xf00U >> length & 0xf0U) | character);
  return length;
}

}  // namespace

std::uint64_t Code::key() const {
  std::uint64_t hash = mix(address, static_cast<std::uint32_t>(first_line));
  hash = mix(hash, file);
  hash = mix(hash, name);
  hash = mix(hash, lines);
  return hash == 0 ? 1 : hash;
}

std::size_t copy_text(const Layout& layout, const Memory& memory, Address object, char* to,
                      std::size_t room, bool& is_cut) {
  std::uint64_t length = 0;
  std::uint32_t state = 0;
  if (!memory.read(object + kSize, length) || !memory.read(object + kStringState, state)) return 0;
  const std::uint32_t kind = state >> 2 & 7;
  const bool is_compact = (state >> 5 & 1) != 0;
  const bool is_ascii = (state >> 6 & 1) != 0;
  if (!is_compact || (kind != 1 && kind != 2 && kind != 4)) return 0;
  const Address data = object + (is_ascii ? layout.ascii_data : layout.other_data);
  std::size_t written = 0;
  for (std::uint64_t i = 0; i < length; ++i) {
    std::uint32_t character = 0;
    if (!memory.read(data + i * kind, &character, kind)) return 0;
    const std::size_t added = put_utf8(character, to + written, room - written);
    if (added == 0) {
      is_cut = true;
      break;
    }
    written += added;
  }
  return written;
}

Contents contents_of(const Memory& memory, Address object) {
  std::uint64_t bytes = 0;
  if (!memory.read(object + kSize, bytes) || bytes > kLongestTable) return {0, 0};
  return {object + kBytesData, bytes};
}

}  // namespace geiger::python
