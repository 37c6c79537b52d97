#include "analysis/symbolize/dwarf/members.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

namespace geiger::symbolize {

namespace {

constexpr int kMostNested = 64;
constexpr std::size_t kMostVisits = std::size_t{1} << 26;
constexpr std::size_t kMostMembers = 200'000, kMostOfOne = 2'000;
constexpr std::uint64_t kMostElements = 16;  ///< Of larger arrays none has a name of its own.
constexpr Bytes kPointer = 8;

/// "_M_impl", "__tree_": of a library, not of the program.
bool is_reserved(std::string_view name) {
  return name.size() > 1 && name[0] == '_' &&
         (name[1] == '_' || (name[1] >= 'A' && name[1] <= 'Z'));
}

std::optional<Dwarf_Die> type_of(Dwarf_Die* die) {
  Dwarf_Attribute attribute;
  Dwarf_Die type, peeled;
  if (dwarf_attr_integrate(die, DW_AT_type, &attribute) == nullptr) return std::nullopt;
  if (dwarf_formref_die(&attribute, &type) == nullptr) return std::nullopt;
  if (dwarf_peel_type(&type, &peeled) != 0) return std::nullopt;
  return peeled;
}

Bytes bytes_of(Dwarf_Die type) {
  Dwarf_Word bytes = 0;
  return dwarf_aggregate_size(&type, &bytes) == 0 ? bytes : 0;
}

/// Calls `visit` for each child. A sibling comes later; anything else would never end.
template <class Visit>
void for_each_child(Dwarf_Die* die, std::size_t& visits, const Visit& visit) {
  Dwarf_Die child;
  if (dwarf_child(die, &child) != 0) return;
  while (++visits < kMostVisits) {
    visit(&child);
    const void* const here = child.addr;
    if (dwarf_siblingof(&child, &child) != 0 || child.addr <= here) return;
  }
}

class Collection {
 public:
  explicit Collection(const DebugFile& file) : bias_(file.dwarf_bias() - file.bias()) {}

  void add_unit(Dwarf_Die unit) { add_variables(&unit, 0); }
  [[nodiscard]] Members take() { return std::move(found_); }

 private:
  void add_variables(Dwarf_Die* scope, int depth) {
    if (depth > kMostNested) return;
    for_each_child(scope, visits_, [&](Dwarf_Die* child) {
      switch (dwarf_tag(child)) {
        case DW_TAG_variable:
          return add_variable(child);
        case DW_TAG_namespace:
        case DW_TAG_subprogram:
        case DW_TAG_lexical_block:
          return add_variables(child, depth + 1);
        default:
          return;
      }
    });
  }

  void add_variable(Dwarf_Die* variable) {
    Dwarf_Attribute location;
    Dwarf_Op* operations = nullptr;
    std::size_t count = 0;
    if (dwarf_attr(variable, DW_AT_location, &location) == nullptr ||
        dwarf_getlocation(&location, &operations, &count) != 0 || count == 0) {
      return;
    }
    const std::optional<Address> place = operand_of(&location, operations);
    const bool is_global = count == 1;
    const bool is_thread_local = count == 2 && (operations[1].atom == DW_OP_form_tls_address ||
                                                operations[1].atom == DW_OP_GNU_push_tls_address);
    if (!place) return;
    const auto type = is_global || is_thread_local ? type_of(variable) : std::nullopt;
    if (!type) return;
    into_ = is_global ? &found_.of_globals : &found_.of_thread_locals;
    first_ = into_->size();
    add_members(*type, *place + (is_global ? bias_ : 0), "", 0);
  }

  /// An address, or the offset of a thread-local variable; in place or in a table.
  static std::optional<Address> operand_of(Dwarf_Attribute* location, const Dwarf_Op* operation) {
    Dwarf_Attribute listed;
    Dwarf_Addr address = 0;
    Dwarf_Word constant = 0;
    switch (operation->atom) {
      case DW_OP_addr:
      case DW_OP_const4u:
      case DW_OP_const8u:
        return operation->number;
      case DW_OP_addrx:
      case DW_OP_GNU_addr_index:
      case DW_OP_constx:
      case DW_OP_GNU_const_index:
        if (dwarf_getlocation_attr(location, operation, &listed) != 0) return std::nullopt;
        if (dwarf_formaddr(&listed, &address) == 0) return address;
        if (dwarf_formudata(&listed, &constant) == 0) return constant;
        return std::nullopt;
      default:
        return std::nullopt;
    }
  }

  [[nodiscard]] bool has_room() const {
    return into_->size() < kMostMembers && into_->size() - first_ < kMostOfOne;
  }

  /// `name`: of the whole, below the variable's.
  void add_members(Dwarf_Die type, Address start, const std::string& name, int depth) {
    const Bytes bytes = bytes_of(type);
    const int tag = dwarf_tag(&type);
    const bool is_structure = tag == DW_TAG_structure_type || tag == DW_TAG_class_type;
    if (depth > kMostNested || bytes < kPointer || !has_room()) return;
    if (tag == DW_TAG_array_type) return add_elements(type, start, bytes, name, depth);
    if (is_structure && !is_of_library(type)) return add_fields(type, start, name, depth);
    if (!name.empty()) into_->push_back({start, bytes, name});
  }

  [[nodiscard]] bool is_of_library(Dwarf_Die type) {
    bool is_one = false;
    for_each_child(&type, visits_, [&](Dwarf_Die* child) {
      const int tag = dwarf_tag(child);
      const char* name = tag == DW_TAG_member ? dwarf_diename(child) : nullptr;
      is_one |=
          name != nullptr && is_reserved(name) && !std::string_view(name).starts_with("_vptr");
      const auto base = tag == DW_TAG_inheritance ? type_of(child) : std::nullopt;
      if (base) {
        Dwarf_Die of = *base;
        const char* base_name = dwarf_diename(&of);
        is_one |= base_name != nullptr && is_reserved(base_name);
      }
    });
    return is_one;
  }

  void add_fields(Dwarf_Die type, Address start, const std::string& name, int depth) {
    for_each_child(&type, visits_, [&](Dwarf_Die* child) {
      const int tag = dwarf_tag(child);
      Dwarf_Attribute attribute;
      Dwarf_Word offset = 0;
      const bool is_field = tag == DW_TAG_member || tag == DW_TAG_inheritance;
      if (!is_field || dwarf_attr(child, DW_AT_data_member_location, &attribute) == nullptr ||
          dwarf_formudata(&attribute, &offset) != 0) {
        return;
      }
      const auto of = type_of(child);
      const char* own = tag == DW_TAG_member ? dwarf_diename(child) : nullptr;
      if (of)
        add_members(*of, start + offset, own ? fmt::format("{}.{}", name, own) : name, depth + 1);
    });
  }

  void add_elements(Dwarf_Die type, Address start, Bytes bytes, const std::string& name,
                    int depth) {
    const auto element = type_of(&type);
    const Bytes each = element ? bytes_of(*element) : 0;
    if (each == 0) return;
    if (each < kPointer || bytes / each > kMostElements) {
      into_->push_back({start, bytes, name + "[*]"});
      return;
    }
    for (std::uint64_t i = 0; i < bytes / each; ++i) {
      const std::string numbered = fmt::format("{}[{}]", name, i);
      const std::size_t before = into_->size();
      add_members(*element, start + i * each, numbered, depth + 1);
      if (into_->size() == before) into_->push_back({start + i * each, each, numbered});
    }
  }

  Address bias_;
  Members found_;
  std::vector<Member>* into_ = nullptr;
  std::size_t first_ = 0;  ///< Of the variable's.
  std::size_t visits_ = 0;
};

}  // namespace

Members members_of_variables(const DebugFile& file) {
  Collection collection(file);
  if (file.dwarf() == nullptr) return {};
  Dwarf_CU* unit = nullptr;
  Dwarf_Die die, split;
  std::uint8_t type = 0;
  while (dwarf_get_units(file.dwarf(), unit, &unit, nullptr, &type, &die, &split) == 0) {
    if (type != DW_UT_compile && type != DW_UT_skeleton) continue;
    collection.add_unit(type == DW_UT_skeleton && split.addr != nullptr ? split : die);
  }
  return collection.take();
}

}  // namespace geiger::symbolize
