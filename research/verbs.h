// The verbs of geiger-study, registered as geiger's own (cli/verbs/commands.h).
#pragma once

#include "cli/options/ending.h"

namespace CLI {
class App;
}

namespace geiger::research {

void register_simulate(CLI::App& app, cli::Work& work);
void register_estimators(CLI::App& app, cli::Work& work);

}  // namespace geiger::research
