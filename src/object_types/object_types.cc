#include "object_types/object_types.h"

#include <string.h>

#include "base/check.h"
#include "base/utf8.h"

namespace geiger::object_types {
namespace {

// Flags of types (Include/object.h). Up to 3.10 no type has those of managed words.
constexpr std::uint64_t kInlineValues = 1U << 2;
constexpr std::uint64_t kManagedWords = 3U << 3;
constexpr std::uint64_t kHeapType = 1U << 9;
constexpr std::uint64_t kReady = 1U << 12;
constexpr std::uint64_t kCollected = 1U << 14;
constexpr std::uint64_t kString = 1U << 28;
constexpr std::uint64_t kTypeOfTypes = 1U << 31;

// Words of objects and of type objects (Include/cpython/object.h).
namespace in_type {
constexpr std::size_t kType = 1, kName = 3, kBasicSize = 4, kItemSize = 5, kFlags = 21, kDict = 33;
}

constexpr Bytes kWord = 8;
constexpr Bytes kMostInline = 512;  ///< 30 values and their order.
constexpr Bytes kMostObject = Bytes{1} << 40;
constexpr Bytes kMostSize = Bytes{1} << 24;  ///< Basic size and item size of a type.
constexpr int kMostLevels = 8;               ///< Types of types of types ...
/// Where versions keep the qualified name of a class: 3.12 and later, 3.8 to 3.11, 3.9. The others
/// have no string there.
constexpr Bytes kQualifiedNames[] = {872, 864, 856};

bool is_plausible(Address address) {
  return address >= 4096 && address < Address{1} << 47 && address % kWord == 0;
}

Bytes bytes_before(std::uint64_t flags, Bytes head) {
  return ((flags & kCollected) != 0 ? head : 0) + ((flags & kManagedWords) != 0 ? head : 0);
}

bool is_printable(std::string_view text) {
  while (!text.empty()) {
    const CodePoint point = decode_utf8(text);
    const bool is_control = point.value < 0x20 || (point.value >= 0x7f && point.value < 0xa0);
    if (!point.is_valid || is_control) return false;
    text.remove_prefix(point.length);
  }
  return true;
}

/// Whether `whole` is `name`, or names outer classes before it.
bool is_qualified(std::string_view whole, std::string_view name) {
  if (!whole.ends_with(name)) return false;
  whole.remove_suffix(name.size());
  return whole.empty() || whole.ends_with('.');
}

}  // namespace

bool has_known_types(std::uint32_t version) {
  const std::uint32_t minor = version >> 16;
  return minor >= 0x0308 && minor <= 0x030d;
}

Reader::Reader(std::uint32_t version, Memory memory)
    : has_compact_keys_(version >> 16 >= 0x030b), memory_(memory) {
  GEIGER_ASSERT(has_known_types(version));
}

bool Reader::read_type(Address address, TypeWords& type, Placement& place) const {
  if (!is_plausible(address) || !read(address, type.data(), sizeof type)) return false;
  const std::uint64_t flags = type[in_type::kFlags];
  const Bytes basic = type[in_type::kBasicSize], item = type[in_type::kItemSize];
  if ((flags & kReady) == 0 || basic < kHeadBytes || basic > kMostSize || item > kMostSize)
    return false;
  place = {bytes_before(flags, kHeadBytes), basic, basic + kWord};
  // Strings of ASCII lack the last words of others, and their text follows.
  if ((flags & kString) != 0) place.least = basic / 2;
  if ((flags & kInlineValues) != 0) place.most += kMostInline;
  if (item != 0 || (flags & kString) != 0) place.most = kMostObject;
  return true;
}

bool Reader::is_type(const TypeWords& type) const {
  return (type[in_type::kFlags] & kReady) != 0 && is_type_of_types(type[in_type::kType]);
}

/// Follows the types of types up to the one that is its own.
bool Reader::is_type_of_types(Address address) const {
  for (int level = 0; level < kMostLevels && is_plausible(address); ++level) {
    if (address == root_) return true;
    TypeWords words;
    constexpr std::uint64_t kBoth = kTypeOfTypes | kReady;
    if (!read(address, words.data(), sizeof words) || (words[in_type::kFlags] & kBoth) != kBoth)
      return false;
    if (words[in_type::kType] == address) {
      TextRead text;
      if (text_at(words[in_type::kName], text) != "type") return false;
      root_ = address;
    }
    address = words[in_type::kType];
  }
  return false;
}

void Reader::copy_name(Address address, const TypeWords& type, TypeName& name) const {
  TextRead own, rest;
  const std::string_view plain = text_at(type[in_type::kName], own);
  name.size = 0;
  if ((type[in_type::kFlags] & kHeapType) == 0 || plain.find('.') != std::string_view::npos)
    return name.append(plain);
  // Only a class that was cleared has nothing in its dictionary: where it was defined is gone.
  constexpr std::size_t kUsed = 2, kKeys = 4;
  std::array<std::uint64_t, kKeys + 1> dictionary{};
  const bool has_dictionary = is_plausible(type[in_type::kDict]) &&
                              read(type[in_type::kDict], dictionary.data(), sizeof dictionary);
  if (plain.empty() || (has_dictionary && dictionary[kUsed] == 0)) return;
  const std::string_view module = module_in(dictionary[kKeys], rest);
  if (!module.empty() && module != "builtins") {
    name.append(module);
    name.append(".");
  }
  name.append(qualified_name(address, plain, rest));
}

std::string_view Reader::qualified_name(Address type, std::string_view name, TextRead& text) const {
  for (const Bytes offset : kQualifiedNames) {
    Address string = 0;
    if (!read(type + offset, &string, sizeof string)) continue;
    const std::string_view whole = text_of(string, text);
    if (is_qualified(whole, name)) return whole;
  }
  return name;
}

/// The first thing that the body of a class does is to set __module__.
std::string_view Reader::module_in(Address keys, TextRead& text) const {
  std::array<Address, 2> entry{};
  const Address first = entries_of(keys).first;
  if (first == 0 || !read(first, entry.data(), sizeof entry)) return {};
  return text_of(entry[0], text) == "__module__" ? text_of(entry[1], text) : std::string_view();
}

/// They lie after the indices (Objects/dictobject.c).
Entries Reader::entries_of(Address keys) const {
  std::array<std::uint64_t, 5> words{};
  constexpr std::uint64_t kMostSizeBits = 24;
  constexpr Bytes kHash = 8, kPair = 16;
  if (!is_plausible(keys) || !read(keys, words.data(), sizeof words)) return {};
  Entries entries;
  if (has_compact_keys_) {
    constexpr Bytes kHeader = 32;
    const std::uint64_t index_bits = words[1] >> 8 & 0xff, kind = words[1] >> 16 & 0xff;
    if (index_bits > kMostSizeBits || kind > 1) return {};
    const Bytes hash = kind == 0 ? kHash : 0;  // Keys that are strings have it in themselves.
    entries = {keys + kHeader + (Bytes{1} << index_bits) + hash, hash + kPair, words[3]};
  } else {
    constexpr Bytes kHeader = 40;
    const std::uint64_t size = words[1];
    if (size > std::uint64_t{1} << kMostSizeBits) return {};
    const Bytes index = size <= 0xff ? 1 : size <= 0xffff ? 2 : 4;
    entries = {keys + kHeader + size * index + kHash, kHash + kPair, words[4]};
  }
  return entries.count <= std::uint64_t{1} << kMostSizeBits ? entries : Entries{};
}

std::string_view Reader::text_of(Address string, TextRead& text) const {
  constexpr std::size_t kLength = 2, kState = 4;
  constexpr std::uint64_t kAscii = 1U << 6 | 1U << 5 | 1U << 2;  // Compact, of one byte each.
  std::array<std::uint64_t, kState + 1> words{};
  TypeWords type;
  if (!is_plausible(string) || !read(string, words.data(), sizeof words)) return {};
  if (!is_plausible(words[in_type::kType]) ||
      !read(words[in_type::kType], type.data(), sizeof type))
    return {};
  constexpr std::uint64_t kKind = kString | kHeapType;
  if ((type[in_type::kFlags] & kKind) != kString || !is_type(type)) return {};
  if ((words[kState] & kAscii) != kAscii || words[kLength] > kMostNamePart) return {};
  // Up to 3.11 strings have a pointer more.
  constexpr Bytes kSizeUpTo311 = 80;
  const Bytes header = type[in_type::kBasicSize] >= kSizeUpTo311 ? 48 : 40;
  text.size = words[kLength];
  if (!read(string + header, text.bytes.data(), text.size)) return {};
  return is_printable(text.view()) ? text.view() : std::string_view();
}

/// The text up to the byte 0, at most kMostNamePart; empty if it is longer, or no text.
std::string_view Reader::text_at(Address address, TextRead& text) const {
  constexpr Bytes kStep = 32;  // A name may be the last thing on a page.
  static_assert(kMostNamePart + kStep <= sizeof text.bytes);
  text.size = 0;
  if (address < 4096 || address >= Address{1} << 47) return {};
  while (text.size <= kMostNamePart) {
    char* part = text.bytes.data() + text.size;
    const Bytes bytes = kStep - address % kStep;
    if (!read(address, part, bytes)) return {};
    const void* end = memchr(part, 0, bytes);
    text.size += end == nullptr ? bytes : static_cast<const char*>(end) - part;
    if (end != nullptr) {
      return text.size <= kMostNamePart && is_printable(text.view()) ? text.view()
                                                                     : std::string_view();
    }
    address += bytes;
  }
  return {};
}

}  // namespace geiger::object_types
