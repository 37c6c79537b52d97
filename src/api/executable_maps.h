// Where the code of modules is mapped, as /proc/self/maps has it: what pprof's readers
// expect of a mapping, whose file offset they match with the segments of the file.
#pragma once

#include <vector>

#include "base/units.h"

namespace geiger::api {

struct ExecutableMap {
  Address start, end;
  Bytes offset;  ///< In the file.
};

/// In the order of addresses; empty where they cannot be read.
[[nodiscard]] std::vector<ExecutableMap> executable_maps();

}  // namespace geiger::api
