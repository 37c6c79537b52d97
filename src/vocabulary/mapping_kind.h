// Kinds of system calls by which a program changes its address space.
#pragma once

#include <cstdint>

namespace geiger::vocabulary {

enum class MappingKind : std::uint32_t {
  kMap = 1,
  kUnmap = 2,
  kRemap = 3,
  kBreak = 4,
  kProtect = 5,
};

}  // namespace geiger::vocabulary
