// What a verb is to the program that has it.
#pragma once

#include <cstdint>

#include "cli/options/ending.h"

namespace CLI {
class App;
}

namespace geiger::cli {

/// One verb: adds its subcommand to `app`; when the user chose it, its callback stores its work,
/// which begins after the parse. `work` outlives the parse.
using Register = void (*)(CLI::App& app, Work& work);

/// What the words after the verb are, besides its options.
enum class Words : std::uint8_t {
  kOperands,             ///< For the parser as they are.
  kProgram,              ///< From the first operand on, or after "--", a program's command line.
  kProgramAfterDivider,  ///< After "--" a program's command line.
  kSides,                ///< "--" separates two lists.
};

struct Command {
  const char* name;
  Register add;
  Words words = Words::kOperands;
};

}  // namespace geiger::cli
