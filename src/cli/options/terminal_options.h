// --color and --quiet, alike in every verb that prints a report.
#pragma once

namespace CLI {
class App;
}

namespace geiger::cli {

/// Both act on the process at once: terminal.h and ending.h hold what was chosen.
void add_terminal_options(CLI::App& verb);

/// --names, of verbs that name functions; acts at once, too.
void add_names_option(CLI::App& verb);

}  // namespace geiger::cli
