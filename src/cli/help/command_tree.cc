#include "cli/help/command_tree.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string_view>
#include <vector>

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

namespace {

std::string escaped(std::string_view text) {
  constexpr std::string_view kMarks = "\\_*#[]|~<>`";
  std::string out;
  for (const char c : text) {
    if (kMarks.find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  // At the start of a line these open a list or a request.
  if (out.starts_with('-') || out.starts_with('.')) out.insert(0, "\\");
  return out;
}

std::string bold(const std::string& text) { return "*" + escaped(text) + "*"; }
std::string underlined(const std::string& text) { return "_" + escaped(text) + "_"; }

std::string heading(const std::string& text) { return "# " + text + "\n\n"; }

/// Paragraphs of a footer, each the lines between blank ones.
std::vector<std::vector<std::string>> paragraphs_of(const std::string& footer) {
  std::vector<std::vector<std::string>> paragraphs(1);
  for (const std::string& line : split(footer, '\n')) {
    if (!line.empty()) {
      paragraphs.back().push_back(line);
    } else if (!paragraphs.back().empty()) {
      paragraphs.emplace_back();
    }
  }
  if (paragraphs.back().empty()) paragraphs.pop_back();
  return paragraphs;
}

/// Indented lines are literal, others run on.
std::string text_of(const std::vector<std::string>& lines) {
  std::string out;
  bool is_literal = false;
  for (const std::string& line : lines) {
    const bool is_indented = line.starts_with("  ");
    if (is_indented != is_literal) out += "```\n";
    is_literal = is_indented;
    out += (is_indented ? line.substr(2) : escaped(line)) + "\n";
  }
  return out + (is_literal ? "```\n\n" : "\n");
}

/// The parts of a footer by the section that they belong to.
struct Sections {
  std::string description, examples, exit_status;
};

Sections sections_of(const std::string& footer) {
  Sections sections;
  for (auto& lines : paragraphs_of(footer)) {
    const std::string first = lines.front();
    const bool is_example = first.starts_with("Example") || first.starts_with("Start here");
    const bool is_status = first.starts_with("Exit code");
    if (is_status) lines.front().erase(0, first.find(": ") + 2);
    if (is_example) lines.erase(lines.begin());
    std::string& section = is_example  ? sections.examples
                           : is_status ? sections.exit_status
                                       : sections.description;
    section += text_of(lines);
  }
  return sections;
}

std::string option_text(const OptionFacts& option) {
  std::string out;
  for (const std::string& name : option.names) out += (out.empty() ? "" : ", ") + bold(name);
  if (option.takes_value && option.names.front().starts_with('-')) {
    out += " " + underlined(option.value.empty() ? "VALUE" : option.value);
  }
  out += "\n";
  for (const std::string& line : split(option.help, '\n')) out += "\t" + escaped(line) + "\n";
  const bool says_choices = std::ranges::all_of(option.choices, [&](const std::string& choice) {
    return option.help.find(choice) != std::string::npos;
  });
  if (!option.choices.empty() && !says_choices) {
    out += "\tOne of " + escaped(fmt::format("{}", fmt::join(option.choices, ", "))) + ".\n";
  }
  return out + "\n";
}

using Texts = std::vector<std::string>;

Texts option_texts(const VerbFacts& verb) {
  Texts texts;
  for (const OptionFacts& operand : verb.operands) texts.push_back(option_text(operand));
  for (const OptionFacts& option : verb.options) texts.push_back(option_text(option));
  return texts;
}

std::string joined(const Texts& texts) { return fmt::format("{}", fmt::join(texts, "")); }

bool contains(const Texts& texts, const std::string& text) {
  return std::ranges::find(texts, text) != texts.end();
}

/// Of the texts of each, those that all have, in their order.
Texts common_to(const std::vector<VerbFacts>& verbs) {
  Texts common = option_texts(verbs.front());
  for (const VerbFacts& verb : verbs) {
    const Texts texts = option_texts(verb);
    std::erase_if(common, [&texts](const std::string& text) { return !contains(texts, text); });
  }
  return common;
}

std::string decapitalised(std::string text) {
  const bool is_word = text.size() > 1 && std::isupper(static_cast<unsigned char>(text[1])) == 0;
  if (is_word) text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
  return text;
}

std::string page_name(const VerbFacts& verb) {
  return verb.name.empty() ? "geiger" : "geiger-" + verb.name;
}

std::string verbs_text(const std::vector<VerbFacts>& verbs) {
  std::string out = heading("VERBS");
  for (const VerbFacts& verb : verbs) {
    out += fmt::format("*geiger-{}*(1)\n\t{}\n\n", verb.name, escaped(verb.summary));
  }
  return out;
}

std::string formats_text(const std::vector<VerbFacts>& formats) {
  const Texts common = common_to(formats);
  std::string out = heading("FORMATS");
  for (const VerbFacts& format : formats) {
    out += fmt::format("## {}\n\n{}.\n\n", last_word(format.name), escaped(format.summary));
    for (const std::string& text : option_texts(format)) {
      if (!contains(common, text)) out += text;
    }
  }
  return out + heading("OPTIONS OF ALL FORMATS") + joined(common);
}

}  // namespace

std::string manual_page(const VerbFacts& verb, const std::string& version) {
  const Sections sections = sections_of(verb.footer);
  std::string out =
      fmt::format("{}(1) \"geiger {}\" \"geiger manual\"\n\n", page_name(verb), version);
  std::string summary = decapitalised(verb.summary);
  while (summary.ends_with('.')) summary.pop_back();
  out += heading("NAME") + fmt::format("{} - {}\n\n", page_name(verb), escaped(summary));
  out += heading("SYNOPSIS") + escaped(verb.usage) + "\n\n";
  if (!sections.description.empty()) out += heading("DESCRIPTION") + sections.description;
  if (!verb.operands.empty() || !verb.options.empty())
    out += heading("OPTIONS") + joined(option_texts(verb));
  if (!verb.verbs.empty()) {
    out += verb.name.empty() ? verbs_text(verb.verbs) : formats_text(verb.verbs);
  }
  if (!sections.examples.empty()) out += heading("EXAMPLES") + sections.examples;
  return out + heading("EXIT STATUS") + sections.exit_status;
}

}  // namespace geiger::cli
