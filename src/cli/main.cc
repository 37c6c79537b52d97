// geiger: one command with a verb.
#include "cli/program.h"
#include "cli/verbs/commands.h"

int main(int argc, char** argv) {
  return geiger::cli::run_program(argc, argv, geiger::cli::kCommands);
}
