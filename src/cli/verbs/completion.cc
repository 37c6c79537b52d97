// `geiger completion SHELL`: the script that completes geiger's command line.
#include "cli/help/completion.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "cli/help/command_line.h"
#include "cli/help/command_tree.h"
#include "cli/verbs/commands.h"
#include "terminal/terminal.h"

namespace geiger::cli {
namespace {

std::string script_of(const std::string& shell, const VerbFacts& geiger) {
  if (shell == "bash") return bash_completion(geiger);
  if (shell == "zsh") return zsh_completion(geiger);
  return fish_completion(geiger);
}

}  // namespace

void register_completion(CLI::App& app, Work& work) {
  auto shell = std::make_shared<std::string>();
  CLI::App* verb = app.add_subcommand("completion", "Print the completion script of a shell");
  verb->add_option("SHELL", *shell, "bash, zsh or fish")
      ->required()
      ->check(one_of({"bash", "zsh", "fish"}))
      ->type_name("");
  verb->footer(
      "\nPackages install it. Without one:\n"
      "\nExamples:\n"
      "  eval \"$(geiger completion bash)\"     in ~/.bashrc\n"
      "  source <(geiger completion zsh)      in ~/.zshrc, after compinit\n"
      "  geiger completion fish > ~/.config/fish/completions/geiger.fish");
  verb->callback([&app, shell, &work] {
    work = [&app, shell] {
      return terminal::print_data(script_of(*shell, describe_tree(app))) ? kExitOk : kExitFailed;
    };
  });
}

}  // namespace geiger::cli
