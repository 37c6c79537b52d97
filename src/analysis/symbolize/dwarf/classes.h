// Classes in DWARF: which one a constructor makes, and which others could begin with one.
#pragma once

#include <elfutils/libdw.h>

#include <functional>
#include <optional>
#include <string>
#include <unordered_map>

#include "base/units.h"

namespace geiger::symbolize {

struct ClassType {
  std::string name;  ///< With namespaces and classes around it.
  Bytes size = 0;    ///< > 0
};

/// The class whose constructor `function` is, a subprogram or an inlined call. Nothing of other
/// functions, and of classes that are only declared here.
[[nodiscard]] std::optional<ClassType> class_constructed_by(Dwarf_Die function);

/// The aggregates of a unit: classes that can be made without a constructor of theirs, where
/// those of their first member or base run instead, at the same address.
class Aggregates {
 public:
  explicit Aggregates(Dwarf_Die unit);

  /// Whether an aggregate begins with an object of the class `name`, and has a size that `fits`.
  [[nodiscard]] bool wraps(const std::string& name, const std::function<bool(Bytes)>& fits) const;

 private:
  struct Known {
    std::string name;
    Bytes size = 0;
    const void* first = nullptr;  ///< The class of what begins it.
    bool is_aggregate = true;
    bool is_polymorphic = false;
    bool has_base_first = false;
  };

  void walk(Dwarf_Die* parent, const std::string& scope, int depth);
  void add(Dwarf_Die* die, const std::string& name);
  [[nodiscard]] bool is_aggregate(const Known& known) const;

  std::unordered_map<const void*, Known> classes_;  ///< By the DIE's address.
};

}  // namespace geiger::symbolize
