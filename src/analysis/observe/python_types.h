// The types of Python's objects in another process, at one instant: types come and go.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "analysis/observe/memory_reader.h"
#include "base/units.h"
#include "object_types/object_types.h"

namespace geiger::observe {

class PythonTypes {
 public:
  /// `version` as Py_Version; requires object_types::has_known_types(version).
  PythonTypes(std::uint32_t version, ReadMemory read);
  PythonTypes(const PythonTypes&) = delete;
  PythonTypes& operator=(const PythonTypes&) = delete;

  /// The name of the type of the object in a block, with its module if it is known; nullptr where
  /// the block does not look like an object. Valid as long as this is.
  [[nodiscard]] const std::string* type_of(Address block, Bytes requested);

 private:
  struct Type {
    std::string name;
    object_types::Placement place;
  };

  /// Null: not a type.
  [[nodiscard]] const Type* type_at(Address address);
  [[nodiscard]] std::optional<Type> read_type(Address address) const;

  ReadMemory read_;
  object_types::Reader reader_;
  std::map<Address, std::optional<Type>> types_;
};

}  // namespace geiger::observe
