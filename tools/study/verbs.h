// The verbs of geiger-study. Each adds its subcommand to `app`; when the user chose it, its
// callback runs it and stores the exit code. `exit_code` outlives the parse.
#pragma once

namespace CLI {
class App;
}

namespace geiger::study {

void register_simulate(CLI::App& app, int& exit_code);
void register_estimate(CLI::App& app, int& exit_code);
void register_estimators(CLI::App& app, int& exit_code);

}  // namespace geiger::study
