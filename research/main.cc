// geiger-study: the estimators on known sites, on samples given by hand, and beside those of other
// designs. For developers of geiger and readers of docs/internals/estimators.md; it is not
// installed.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "cli/help/command_line.h"
#include "cli/help/help_formatter.h"
#include "cli/options/ending.h"
#include "research/verbs.h"
#include "terminal/terminal.h"

namespace geiger::research {
namespace {

int run(int argc, char** argv) {
  CLI::App app("Tries and compares the estimators of geiger (docs/internals/estimators.md).",
               "geiger-study");
  app.formatter(std::make_shared<cli::HelpFormatter>());  // Verbs inherit it.
  app.require_subcommand(1);
  cli::Work work;
  register_simulate(app, work);
  register_estimators(app, work);
  cli::document_exit_codes(app);
  const std::vector<std::string> words(argv + 1, argv + argc);
  try {
    std::vector<std::string> last_first(words.rbegin(), words.rend());  // As CLI11 takes them.
    app.parse(last_first);
    const base::Outcome<int> ending = work();
    return ending.has_value() ? ending.value()
                              : cli::end_with(ending.failure(), "geiger-study " + words[0]);
  } catch (const CLI::Success& done) {
    return app.exit(done);
  } catch (const CLI::ParseError& error) {
    terminal::complain(cli::refusal_of(error, app, words));
    return cli::kExitUsage;
  }
}

}  // namespace
}  // namespace geiger::research

int main(int argc, char** argv) {
  try {
    return geiger::research::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "geiger-study: %s\n", error.what());
    return geiger::cli::kExitFailed;
  }
}
