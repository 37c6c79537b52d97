// The types of `new Foo` in one module, from its code and its DWARF.
//
// Compiled code does not name the type. But a constructor that runs on the memory that
// operator new just returned does: the pointer is followed from the return address
// (fresh_pointer.h) into the first argument of a constructor that is called, or into the place
// where DWARF has the `this` of one that was inlined. The class must have the size that was
// asked for. Where another class could be meant, or nothing is constructed, there is no type.
#pragma once

#include <functional>
#include <map>

#include "analysis/symbolize/module_names.h"
#include "analysis/symbolize/types/unit_types.h"
#include "base/units.h"

namespace geiger::symbolize {

/// By return address, an ELF vaddr.
using NewSites = std::map<Address, NewSite>;

/// For each address of the job whose type is known one frame, whose function is the type.
/// x86-64 only.
[[nodiscard]] ModuleAnswer find_new_types(const ModuleJob& job, const NewSites& sites,
                                          const SearchOptions& options,
                                          const std::function<void(std::size_t)>& progress);

}  // namespace geiger::symbolize
