#include "analysis/observe/python_types.h"

#include <utility>

namespace geiger::observe {
namespace {

/// Addresses looked at in one snapshot: a large program has some ten thousand types.
constexpr std::size_t kMostTypes = std::size_t{1} << 17;

bool read_memory(void* read, Address address, void* into, Bytes bytes) {
  return (*static_cast<const ReadMemory*>(read))(address, into, bytes);
}

}  // namespace

PythonTypes::PythonTypes(std::uint32_t version, ReadMemory read)
    : read_(std::move(read)), reader_(version, {read_memory, &read_}) {}

const std::string* PythonTypes::type_of(Address block, Bytes requested) {
  const Type* type =
      reader_.type_of(block, requested, true, [this](Address address) { return type_at(address); });
  return type == nullptr ? nullptr : &type->name;
}

const PythonTypes::Type* PythonTypes::type_at(Address address) {
  auto known = types_.find(address);
  if (known == types_.end()) {
    if (types_.size() >= kMostTypes) return nullptr;
    known = types_.emplace(address, read_type(address)).first;
  }
  return known->second ? &*known->second : nullptr;
}

std::optional<PythonTypes::Type> PythonTypes::read_type(Address address) const {
  object_types::TypeWords words{};
  object_types::TypeName name;
  Type type;
  if (!reader_.read_type(address, words, type.place) || !reader_.is_type(words))
    return std::nullopt;
  reader_.copy_name(address, words, name);
  type.name = name.view();
  return type.name.empty() ? std::nullopt : std::optional(std::move(type));
}

}  // namespace geiger::observe
