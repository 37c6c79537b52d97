#include "cli/verbs/commands.h"
namespace geiger::cli {
void register_agent(CLI::App&, Work&) {}
}
