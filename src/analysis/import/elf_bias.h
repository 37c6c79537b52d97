// The bias of a mapped file: its run-time addresses minus the virtual addresses of its ELF headers.
#pragma once

#include <cstdint>
#include <string>

#include "base/units.h"

namespace geiger::imports {

/// Run-time address minus ELF address of a file that is mapped at `start` from its byte `offset`
/// on. Files that cannot be read, or are not ELF files, are treated as files whose addresses are
/// their offsets.
[[nodiscard]] Address bias_of_mapping(const std::string& path, Address start, std::uint64_t offset);

}  // namespace geiger::imports
