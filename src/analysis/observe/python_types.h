// The types of Python's objects, read from the memory of a process while it runs.
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
// The process goes on while it is read, and nothing in it is trusted: every read is bounded, no
// read leads to another without a limit, and names are checked.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "analysis/observe/memory_reader.h"
#include "base/units.h"

namespace geiger::observe {

/// Whether types can be read of a CPython of this version (Py_Version).
[[nodiscard]] bool has_known_types(std::uint32_t version);

/// Of one instant: types come and go.
class PythonTypes {
 public:
  /// `version` as Py_Version; requires has_known_types(version).
  PythonTypes(std::uint32_t version, ReadMemory read);

  /// The name of the type of the object in a block, with its module if it is known; nullptr where
  /// the block is not an object, as far as can be told. Valid as long as this is.
  [[nodiscard]] const std::string* type_of(Address block, Bytes requested);

 private:
  /// The first words of a type object.
  using Words = std::array<std::uint64_t, 34>;
  struct Type {
    std::string name;
    Bytes before = 0;  ///< From a block's start to the object.
    Bytes least = 0, most = 0;
  };

  [[nodiscard]] const std::optional<Type>& type_at(Address address);
  [[nodiscard]] std::optional<Type> read_type(Address address);
  [[nodiscard]] bool is_type(const Words& type);
  [[nodiscard]] bool is_type_of_types(Address address);
  [[nodiscard]] std::string name_of(Address address, const Words& type);
  [[nodiscard]] std::string qualified_name(Address type, const std::string& name);
  [[nodiscard]] std::string module_in(Address dictionary);
  [[nodiscard]] Address first_entry(Address keys);
  [[nodiscard]] std::string text_of(Address string);
  [[nodiscard]] std::string text_at(Address address, Bytes length);

  bool has_compact_keys_;  ///< Of dictionaries: from 3.11 on.
  ReadMemory read_;
  std::map<Address, std::optional<Type>> types_;  ///< Nothing: not a type.
  std::map<Address, bool> types_of_types_;
};

}  // namespace geiger::observe
