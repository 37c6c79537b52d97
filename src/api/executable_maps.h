// Mappings of modules' code, from /proc/self/maps. Readers of pprof profiles expect them: they
// match the file offset with the segments of the file.
#pragma once

#include <vector>

#include "base/units.h"

namespace geiger::api {

struct ExecutableMap {
  Address start, end;
  Bytes offset;  ///< In the file.
};

/// In the order of addresses; empty if they cannot be read.
[[nodiscard]] std::vector<ExecutableMap> executable_maps();

}  // namespace geiger::api
