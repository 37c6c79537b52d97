// Infers the types of objects that the program did not name: of `new Foo`, from code and debug
// information.
#pragma once

#include <string_view>

#include "analysis/profile/recording/recording.h"
#include "analysis/symbolize/symbolize.h"

namespace geiger::symbolize {

// Infers the types of objects that the program did not name: of `new Foo`, from code and debug
// information (infer_types.cc). This reads more than names need, so only reports about types do it.

/// Behind the name of an inferred type: it may be wrong where the program does what no
/// compiler does, so it is not counted with those that are named.
inline constexpr std::string_view kInferredMark = " (inferred)";

/// Gives a type, its name marked, to the samples of operator new that have none by any other
/// way, as far as files on this machine allow. Locations must be symbolized and stacks trimmed.
/// Of `options` progress, patience, servers and directories count. Forks (see worker.h).
void infer_types(profile::Recording& recording, const Options& options);

}  // namespace geiger::symbolize
