#include "cli/options/terminal_options.h"

#include <CLI/CLI.hpp>
#include <string>

#include "cli/help/choice.h"
#include "cli/options/next_step.h"
#include "terminal/terminal.h"

namespace geiger::cli {
namespace {

terminal::Color color_named(const std::string& word) {
  if (word == "always") return terminal::Color::kAlways;
  return word == "never" ? terminal::Color::kNever : terminal::Color::kAuto;
}

}  // namespace

void add_terminal_options(CLI::App& verb) {
  verb.add_option_function<std::string>(
          "--color", [](const std::string& word) { terminal::choose_color(color_named(word)); },
          "auto (default: on a terminal, unless NO_COLOR is set), always, never")
      ->check(one_of({"auto", "always", "never"}))
      ->type_name("WHEN");
  verb.add_flag_callback("-q,--quiet", suggest_nothing, "Do not suggest the next command");
}

void add_names_option(CLI::App& verb) {
  verb.add_option_function<std::string>(
          "--names",
          [](const std::string& word) {
            terminal::choose_names(word == "full" ? present::Names::kFull : present::Names::kShort);
          },
          "short (default): function names without arguments, std:: and the\n"
          "like, in reports fitted to the width; full: complete, never cut")
      ->check(one_of({"short", "full"}))
      ->type_name("FORM");
}

}  // namespace geiger::cli
