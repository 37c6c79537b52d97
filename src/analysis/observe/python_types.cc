#include "analysis/observe/python_types.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "base/utf8.h"

namespace geiger::observe {
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
constexpr std::uint64_t kReferences = 0xffffffff;  ///< Of word 0, in 3.12 and later.

constexpr Bytes kWord = 8;
constexpr Bytes kHeadBytes = 16;    ///< Of the collector; of managed words.
constexpr Bytes kMostInline = 512;  ///< 30 values and their order.
constexpr Bytes kMostObject = Bytes{1} << 40;
constexpr Bytes kMostSize = Bytes{1} << 24;  ///< Basic size and item size of a type.
constexpr Bytes kMostName = 200;
/// Addresses looked at in one snapshot: a large program has some ten thousand types.
constexpr std::size_t kMostTypes = std::size_t{1} << 17;
constexpr int kMostLevels = 8;  ///< Types of types of types ...
/// Where versions keep the qualified name of a class: 3.12 and later, 3.8 to 3.11, 3.9. The others
/// have no string there.
constexpr Bytes kQualifiedNames[] = {872, 864, 856};

bool is_plausible(Address address) {
  return address >= 4096 && address < Address{1} << 47 && address % kWord == 0;
}

Bytes bytes_before(std::uint64_t flags) {
  return ((flags & kCollected) != 0 ? kHeadBytes : 0) +
         ((flags & kManagedWords) != 0 ? kHeadBytes : 0);
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

}  // namespace

bool has_known_types(std::uint32_t version) {
  const std::uint32_t minor = version >> 16;
  return minor >= 0x0308 && minor <= 0x030d;
}

PythonTypes::PythonTypes(std::uint32_t version, ReadMemory read)
    : has_compact_keys_(version >> 16 >= 0x030b), read_(std::move(read)) {
  GEIGER_ASSERT(has_known_types(version));
}

const std::string* PythonTypes::type_of(Address block, Bytes requested) {
  std::array<std::uint64_t, 6> words{};
  const Bytes bytes = std::min<Bytes>(requested / kWord * kWord, sizeof words);
  if (!read_(block, words.data(), bytes)) return nullptr;
  for (Bytes before = 0; before + kHeadBytes <= bytes; before += kHeadBytes) {
    const std::uint64_t* object = &words[before / kWord];
    if ((object[0] & kReferences) == 0) continue;  // Freed, and perhaps kept for the next one.
    const std::optional<Type>& type = type_at(object[in_type::kType]);
    if (!type || type->before != before) continue;
    const Bytes size = requested - before;
    if (size >= type->least && size <= type->most) return &type->name;
  }
  return nullptr;
}

const std::optional<PythonTypes::Type>& PythonTypes::type_at(Address address) {
  static const std::optional<Type> kNone;
  if (!is_plausible(address)) return kNone;
  const auto known = types_.find(address);
  if (known != types_.end()) return known->second;
  if (types_.size() >= kMostTypes) return kNone;
  return types_[address] = read_type(address);
}

std::optional<PythonTypes::Type> PythonTypes::read_type(Address address) {
  Words words{};
  if (!read_(address, words.data(), sizeof words) || !is_type(words)) return std::nullopt;
  const std::uint64_t flags = words[in_type::kFlags];
  const Bytes basic = words[in_type::kBasicSize], item = words[in_type::kItemSize];
  if (basic < kHeadBytes || basic > kMostSize || item > kMostSize) return std::nullopt;
  Type type{name_of(address, words), bytes_before(flags), basic, basic + kWord};
  // Strings of ASCII lack the last words of others, and have their text behind.
  if ((flags & kString) != 0) type.least = basic / 2;
  if ((flags & kInlineValues) != 0) type.most += kMostInline;
  if (item != 0 || (flags & kString) != 0) type.most = kMostObject;
  if (type.name.empty()) return std::nullopt;
  return type;
}

bool PythonTypes::is_type(const Words& type) {
  return (type[in_type::kFlags] & kReady) != 0 && is_type_of_types(type[in_type::kType]);
}

/// Follows the types of types up to the one that is its own.
bool PythonTypes::is_type_of_types(Address address) {
  const Address first = address;
  if (const auto known = types_of_types_.find(first); known != types_of_types_.end()) {
    return known->second;
  }
  bool is_one = false;
  for (int level = 0; level < kMostLevels && !is_one && is_plausible(address); ++level) {
    Words words{};
    constexpr std::uint64_t kBoth = kTypeOfTypes | kReady;
    if (!read_(address, words.data(), sizeof words) || (words[in_type::kFlags] & kBoth) != kBoth)
      break;
    is_one =
        words[in_type::kType] == address && text_at(words[in_type::kName], kMostName) == "type";
    if (words[in_type::kType] == address) break;
    address = words[in_type::kType];
  }
  if (types_of_types_.size() < kMostTypes) types_of_types_[first] = is_one;
  return is_one;
}

/// A class of the program has its short name only; a type of C, or of a C module, has the module in
/// front.
std::string PythonTypes::name_of(Address address, const Words& type) {
  const std::string name = text_at(type[in_type::kName], kMostName);
  if ((type[in_type::kFlags] & kHeapType) == 0 || name.find('.') != std::string::npos) return name;
  const std::string whole = qualified_name(address, name);
  const std::string module = module_in(type[in_type::kDict]);
  return module.empty() || module == "builtins" ? whole : module + "." + whole;
}

std::string PythonTypes::qualified_name(Address type, const std::string& name) {
  for (const Bytes offset : kQualifiedNames) {
    Address string = 0;
    if (!read_(type + offset, &string, sizeof string)) continue;
    const std::string whole = text_of(string);
    if (whole == name || whole.ends_with("." + name)) return whole;
  }
  return name;
}

/// The first thing that the body of a class does is to set __module__.
std::string PythonTypes::module_in(Address dictionary) {
  constexpr std::size_t kKeys = 4;
  std::array<std::uint64_t, kKeys + 1> words{};
  std::array<Address, 2> entry{};
  if (!is_plausible(dictionary) || !read_(dictionary, words.data(), sizeof words)) return {};
  const Address first = first_entry(words[kKeys]);
  if (first == 0 || !read_(first, entry.data(), sizeof entry)) return {};
  return text_of(entry[0]) == "__module__" ? text_of(entry[1]) : "";
}

/// Where the key of the first entry lies, behind the indices (Objects/dictobject.c); 0: not known.
Address PythonTypes::first_entry(Address keys) {
  std::array<std::uint64_t, 2> words{};
  constexpr unsigned kMostSizeBits = 24;
  if (!is_plausible(keys) || !read_(keys, words.data(), sizeof words)) return 0;
  if (!has_compact_keys_) {
    constexpr Bytes kHeader = 40, kHash = 8;
    const std::uint64_t size = words[1];
    if (size > std::uint64_t{1} << kMostSizeBits) return 0;
    const Bytes index = size <= 0xff ? 1 : size <= 0xffff ? 2 : 4;
    return keys + kHeader + size * index + kHash;
  }
  constexpr Bytes kHeader = 32;
  const std::uint64_t index_bits = words[1] >> 8 & 0xff, kind = words[1] >> 16 & 0xff;
  if (index_bits > kMostSizeBits || kind > 1) return 0;
  const Bytes hash = kind == 0 ? 8 : 0;  // Keys that are strings have their hash in themselves.
  return keys + kHeader + (Bytes{1} << index_bits) + hash;
}

/// The text of a str object, if it is short and of ASCII; else empty.
std::string PythonTypes::text_of(Address string) {
  constexpr std::size_t kLength = 2, kState = 4;
  constexpr std::uint64_t kAscii = 1U << 6 | 1U << 5 | 1U << 2;  // Compact, of one byte each.
  std::array<std::uint64_t, kState + 1> words{};
  Words type{};
  if (!is_plausible(string) || !read_(string, words.data(), sizeof words)) return {};
  if (!is_plausible(words[in_type::kType]) ||
      !read_(words[in_type::kType], type.data(), sizeof type))
    return {};
  constexpr std::uint64_t kKind = kString | kHeapType;
  if ((type[in_type::kFlags] & kKind) != kString || !is_type(type)) return {};
  if ((words[kState] & kAscii) != kAscii || words[kLength] > kMostName) return {};
  // Up to 3.11 strings have a pointer more.
  constexpr Bytes kSizeUpTo311 = 80;
  const Bytes header = type[in_type::kBasicSize] >= kSizeUpTo311 ? 48 : 40;
  std::string text(words[kLength], '\0');
  if (!read_(string + header, text.data(), text.size())) return {};
  return is_printable(text) ? text : "";
}

/// The text up to the byte 0, at most `length`; empty if it is longer, or no text.
std::string PythonTypes::text_at(Address address, Bytes length) {
  constexpr Bytes kStep = 32;  // A name may be the last thing on a page.
  std::string text;
  if (address < 4096 || address >= Address{1} << 47) return {};
  while (text.size() <= length) {
    char part[kStep];
    const Bytes bytes = kStep - address % kStep;
    if (!read_(address, part, bytes)) return {};
    const std::string_view read(part, bytes);
    const std::size_t end = read.find('\0');
    text += read.substr(0, end);
    if (end != std::string_view::npos) {
      return text.size() <= length && is_printable(text) ? text : "";
    }
    address += bytes;
  }
  return {};
}

}  // namespace geiger::observe
