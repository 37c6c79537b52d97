// `geiger help [VERB]`: what --help prints, and the manual's source.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "cli/help/command_line.h"
#include "cli/help/command_tree.h"
#include "cli/verbs/commands.h"
#include "query/words.h"
#include "terminal/terminal.h"

namespace geiger::cli {
namespace {

struct HelpArguments {
  std::vector<std::string> words;
  bool wants_source = false;
};

int print_text(const std::string& text) {
  return terminal::print_data(text) ? kExitOk : kExitFailed;
}

struct Found {
  const CLI::App* app;
  VerbFacts facts;
};

base::Outcome<Found> find(const CLI::App& app, const std::vector<std::string>& words) {
  Found found{&app, describe_tree(app)};
  for (const std::string& word : words) {
    std::vector<std::string> names;
    const VerbFacts* next = nullptr;
    for (const VerbFacts& verb : found.facts.verbs) {
      names.push_back(last_word(verb.name));
      if (names.back() == word) next = &verb;
    }
    if (next == nullptr) {
      return usage_failure(
          fmt::format("unknown verb '{}'{}", word, query::did_you_mean(word, names)));
    }
    found.app = found.app->get_subcommand(word);
    found.facts = VerbFacts(*next);
  }
  return found;
}

base::Outcome<int> print_help(const CLI::App& app, const HelpArguments& options) {
  const auto found = GEIGER_TRY(find(app, options.words));
  if (options.wants_source) {
    return print_text(manual_page(found.facts, GEIGER_VERSION));
  }
  // Not App::help(), which would follow the words of this command line, to `help` itself.
  std::string path = "geiger";
  for (const std::string& word : options.words) path += " " + word;
  const auto formatter = found.app->get_formatter();
  return print_text(formatter->make_help(found.app, path, CLI::AppFormatMode::Normal));
}

}  // namespace

void register_help(CLI::App& app, Work& work) {
  auto options = std::make_shared<HelpArguments>();
  CLI::App* verb = app.add_subcommand("help", "Show what a verb does and its options");
  verb->add_option("VERB", options->words, "Verb to describe (default: geiger itself)")
      ->type_name("");
  verb->add_flag("--scdoc", options->wants_source, "Print the source of its manual page");
  verb->callback(
      [&app, options, &work] { work = [&app, options] { return print_help(app, *options); }; });
}

}  // namespace geiger::cli
