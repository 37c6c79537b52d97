// `geiger run` alone. ./geiger builds it first, as that takes half as long as all verbs, and uses
// it until they are asked for. Not installed.
#include "cli/program.h"
#include "cli/verbs/commands.h"

int main(int argc, char** argv) {
  constexpr geiger::cli::Command kRun[] = {geiger::cli::kCommands[0]};
  static_assert(kRun[0].add == geiger::cli::register_run);
  return geiger::cli::run_program(argc, argv, kRun);
}
