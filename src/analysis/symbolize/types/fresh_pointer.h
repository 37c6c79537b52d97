// Where a pointer that a call just returned is while the code after the call runs: in which
// registers, handed to which functions.
//
// A value is only followed while nothing else can have happened to it. Where the code does
// what is not known here, the path ends: what is not seen is not claimed.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/symbolize/types/x86_code.h"
#include "base/units.h"

namespace geiger::symbolize {

/// What each register holds: the pointer plus an offset, or something else.
using PointerOffsets = std::array<std::optional<std::int64_t>, kRegisters>;

/// Before the instruction at `at`.
struct PointerPlace {
  Address at = 0;
  PointerOffsets registers;
};

/// A call that gets the pointer, plus `offset`, as its first argument.
struct PointerCall {
  Address at = 0;
  Address target = 0;
  std::int64_t offset = 0;
};

struct PointerTrail {
  std::vector<PointerPlace> places;
  std::vector<PointerCall> calls;
};

/// Both ways of a branch are followed, up to a number of instructions.
[[nodiscard]] PointerTrail follow_pointer(Address return_address, const CodeAt& code_at);

}  // namespace geiger::symbolize
