#include "cli/options/terminal_options.h"

#include <CLI/CLI.hpp>

#include "cli/options/ending.h"
#include "cli/options/parsed_option.h"
#include "terminal/terminal.h"

namespace geiger::cli {

void add_terminal_options(CLI::App& verb) {
  add_choice(verb, "--color", "WHEN",
             "auto (default: on a terminal, unless NO_COLOR is set), always, never",
             Choices<terminal::Color>{{"auto", terminal::Color::kAuto},
                                      {"always", terminal::Color::kAlways},
                                      {"never", terminal::Color::kNever}},
             terminal::choose_color);
  verb.add_flag_callback("-q,--quiet", suggest_nothing, "Do not suggest the next command");
}

void add_names_option(CLI::App& verb) {
  add_choice(
      verb, "--names", "FORM",
      "short (default): function names without arguments, std:: and the\n"
      "like, in reports fitted to the width; full: complete, never cut",
      Choices<present::Names>{{"short", present::Names::kShort}, {"full", present::Names::kFull}},
      terminal::choose_names);
}

}  // namespace geiger::cli
