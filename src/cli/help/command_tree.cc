#include "cli/help/command_tree.h"

#include <CLI/CLI.hpp>
#include <string_view>

#include "base/check.h"
#include "cli/help/help_formatter.h"

namespace geiger::cli {
namespace {

/// Validators describe themselves after the name of the type: "KIND:{live,peak}".
void read_type(const std::string& type, OptionFacts& facts) {
  const std::size_t colon = type.find(":{");
  facts.value = name_of_type(type);
  if (colon == std::string::npos) return;
  const std::size_t end = type.find('}', colon);
  facts.choices = split(std::string_view(type).substr(colon + 2, end - colon - 2), ',');
}

OptionFacts facts_of(const CLI::Option& option) {
  OptionFacts facts;
  facts.help = option.get_description();
  if (option.get_positional()) {
    facts.names.push_back(option.get_name());
  } else {
    for (const auto& name : option.get_snames()) facts.names.push_back("-" + name);
    for (const auto& name : option.get_lnames()) facts.names.push_back("--" + name);
    // Else `--debug-dir DIR RUN` took the run for a second folder.
    GEIGER_CHECK(!option.get_allow_extra_args());
  }
  facts.takes_value = option.get_items_expected_max() > 0;
  if (facts.takes_value) read_type(option.get_type_name(), facts);
  facts.is_list = facts.value.ends_with(",...");
  return facts;
}

std::string usage_of(const CLI::App& app, const std::string& path) {
  constexpr std::string_view kOpening = "Usage: ";
  // Not App::help(), which would follow the words of this command line, to another verb.
  const std::string help = app.get_formatter()->make_help(&app, path, CLI::AppFormatMode::Normal);
  const std::size_t at = help.find(kOpening);
  if (at == std::string::npos) return path;
  const std::size_t begin = at + kOpening.size();
  return help.substr(begin, help.find('\n', begin) - begin);
}

VerbFacts verb_facts(const CLI::App& app, const std::string& name) {
  VerbFacts facts;
  facts.name = name;
  facts.summary = app.get_description();
  facts.usage = usage_of(app, name.empty() ? "geiger" : "geiger " + name);
  facts.footer = app.get_footer();
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;  // Hidden.
    auto& list = option->get_positional() ? facts.operands : facts.options;
    list.push_back(facts_of(*option));
  }
  for (const CLI::App* verb : app.get_subcommands({})) {
    if (verb->get_group().empty()) continue;
    const std::string path = name.empty() ? verb->get_name() : name + " " + verb->get_name();
    facts.verbs.push_back(verb_facts(*verb, path));
  }
  return facts;
}

}  // namespace

VerbFacts describe_tree(const CLI::App& app) { return verb_facts(app, ""); }

Completion completion_of(const OptionFacts& option) {
  if (!option.choices.empty()) return Completion::kChoices;
  const bool is_operand = !option.names.front().starts_with('-');
  const std::string& word = is_operand ? option.names.front() : option.value;
  if (is_operand && word == "PID") return Completion::kProcesses;
  if (is_operand && word == "RUN") return Completion::kRuns;
  if (word == "DIR") return Completion::kDirectories;
  if (word.starts_with("FILE")) return Completion::kFiles;
  return Completion::kNothing;
}

bool asks_all_processes(const VerbFacts& verb) { return verb.name == "attach"; }

std::string last_word(const std::string& path) { return path.substr(path.rfind(' ') + 1); }

bool takes_program(const VerbFacts& verb) {
  return verb.usage.find("PROGRAM") != std::string::npos;
}

}  // namespace geiger::cli
