// A command with verbs, from its words to its exit code.
#pragma once

#include <span>

#include "cli/verbs/command.h"

namespace geiger::cli {

/// Does what the words after argv[0] say. Nothing is thrown: what failed is said on standard error.
[[nodiscard]] int run_program(int argc, char** argv, std::span<const Command> commands);

}  // namespace geiger::cli
