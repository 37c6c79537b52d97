// The types of Python's objects, read from the memory of a process: by the runtime from its own, by
// snapshots from outside.
//
// An object starts with its reference count and the address of its type. In its block the
// collector's head or the words of a managed dictionary can come first; the flags of the type say
// which. A block without an object is therefore very rarely mistaken for one: it would need the
// address of a type whose objects start at the same offset and have the same size.
//
// A type is what has a type of types: the chain of ob_type must end in a type of its own type,
// named "type". So the offsets prove themselves in each process. They are equal in all builds with
// the global lock from 3.8 to 3.13; builds without it are not read.
//
// The memory may change while it is read, and nothing in it is trusted: every read is bounded, no
// read leads to another without a limit, and names are checked.
//
// Threads, signals: values of their caller. Allocates: never.
#pragma once

#include <string.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/units.h"

namespace geiger::object_types {

/// Whether types can be read of a CPython of this version (Py_Version).
[[nodiscard]] bool has_known_types(std::uint32_t version);

struct Memory {
  /// Reads [address, address + bytes); false where a part of it cannot be read.
  bool (*read)(void* context, Address address, void* into, Bytes bytes);
  void* context;
};

/// The first words of a type object.
using TypeWords = std::array<std::uint64_t, 34>;
/// Of these, those that a type keeps: its type, name, basic size, item size and dictionary.
inline constexpr std::size_t kLastingWords[] = {1, 3, 4, 5, 33};

/// Where and how large the objects of a type are in their blocks.
struct Placement {
  Bytes before = 0;  ///< From the block's start to the object.
  Bytes least = 0, most = 0;
};

/// A text of limited length.
template <std::size_t kMost>
struct Text {
  std::array<char, kMost> bytes;
  std::size_t size = 0;

  [[nodiscard]] std::string_view view() const { return {bytes.data(), size}; }
  /// What does not fit is cut.
  void append(std::string_view text) {
    const std::size_t count = std::min(text.size(), kMost - size);
    memcpy(bytes.data() + size, text.data(), count);
    size += count;
  }
};

inline constexpr Bytes kMostNamePart = 200;
/// The module and the qualified name.
using TypeName = Text<2 * kMostNamePart + 1>;
/// What is copied from the process: steps of text may end after its last byte.
using TextRead = Text<kMostNamePart + 40>;

/// The entries of a dictionary: the address of a key, behind it that of its value, or 0.
struct Entries {
  Address first = 0;  ///< The first one's key.
  Bytes stride = 0;
  std::uint64_t count = 0;  ///< Those that were removed from it too.
};

class Reader {
 public:
  /// `version` as Py_Version; requires has_known_types(version).
  Reader(std::uint32_t version, Memory memory);

  /// The type of the object in a block, which is alive or is being freed, as `type_at` has it:
  /// type_at(address) returns a pointer to something with a Placement `place`, null if there is no
  /// type at the address. Null where the block does not look like an object.
  template <class TypeAt>
  [[nodiscard]] auto type_of(Address block, Bytes requested, bool is_alive,
                             const TypeAt& type_at) const -> decltype(type_at(block)) {
    std::array<std::uint64_t, 6> words{};
    const Bytes bytes =
        std::min<Bytes>(requested / sizeof words[0] * sizeof words[0], sizeof words);
    if (!read(block, words.data(), bytes)) return nullptr;
    for (Bytes before = 0; before + kHeadBytes <= bytes; before += kHeadBytes) {
      const std::uint64_t* object = &words[before / sizeof words[0]];
      // Freed, and perhaps kept for the next one.
      if (is_alive && (object[0] & kReferences) == 0) continue;
      const auto type = type_at(object[1]);
      if (type == nullptr || type->place.before != before) continue;
      const Bytes size = requested - before;
      if (size >= type->place.least && size <= type->place.most) return type;
    }
    return nullptr;
  }

  /// Reads the words at an address; false if they are not those of a type, as far as they alone
  /// show.
  [[nodiscard]] bool read_type(Address address, TypeWords& type, Placement& place) const;
  /// Whether the type's type is a type of types.
  [[nodiscard]] bool is_type(const TypeWords& type) const;
  /// Writes the name of the type with these words. A class of the program has its module in front;
  /// a type of C, or of a C module, if its own name has it. Empty if the name is not text, or the
  /// interpreter has cleared the class.
  void copy_name(Address address, const TypeWords& type, TypeName& name) const;

  /// Of the keys of a dictionary that are no other one's too; nothing if they are not known.
  [[nodiscard]] Entries entries_of(Address keys) const;
  /// The text of a str object, if it is short and of ASCII; else empty.
  [[nodiscard]] std::string_view text_of(Address string, TextRead& text) const;

 private:
  static constexpr Bytes kHeadBytes = 16;                   ///< Of the collector; of managed words.
  static constexpr std::uint64_t kReferences = 0xffffffff;  ///< Of word 0, in 3.12 and later.
  [[nodiscard]] bool read(Address address, void* into, Bytes bytes) const {
    return memory_.read(memory_.context, address, into, bytes);
  }
  [[nodiscard]] bool is_type_of_types(Address address) const;
  std::string_view qualified_name(Address type, std::string_view name, TextRead& text) const;
  std::string_view module_in(Address keys, TextRead& text) const;
  std::string_view text_at(Address address, TextRead& text) const;

  bool has_compact_keys_;  ///< Of dictionaries: from 3.11 on.
  Memory memory_;
  mutable Address root_ = 0;  ///< The type of its own type, once it is known.
};

}  // namespace geiger::object_types
