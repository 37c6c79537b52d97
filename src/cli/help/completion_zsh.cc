// One function per verb, each of them the words of _arguments.
#include <fmt/format.h>

#include <algorithm>

#include "cli/help/completion.h"

namespace geiger::cli {
namespace {

constexpr const char* kZshOpening = R"sh(#compdef geiger
# zsh completion for geiger; made by 'geiger completion zsh'
_geiger_processes() {
  local -a processes
  processes=(${(f)"$(command geiger ctl 2>/dev/null | awk '$1 ~ /^[0-9]+$/ { print $1 ":" $4 }')"})
  _describe 'recorded process' processes
}

)sh";

std::string function_of(const VerbFacts& verb) {
  std::string name = "_geiger" + (verb.name.empty() ? "" : "_" + verb.name);
  std::ranges::replace(name, ' ', '_');
  return name;
}

/// For the brackets and fields of _arguments.
std::string in_brackets(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string action_of(const VerbFacts& verb, const OptionFacts& option) {
  switch (completion_of(option)) {
    case Completion::kChoices: {
      const auto words = fmt::format("{}", fmt::join(option.choices, " "));
      return option.is_list ? fmt::format("_values -s , value {}", words)
                            : fmt::format("({})", words);
    }
    case Completion::kDirectories:
      return "_files -/";
    case Completion::kFiles:
    case Completion::kRuns:
      return "_files";
    case Completion::kProcesses:
      return asks_all_processes(verb) ? "_pids" : "_geiger_processes";
    case Completion::kNothing:
      return " ";
  }
  return " ";
}

std::string spec_of(const VerbFacts& verb, const OptionFacts& option, const std::string& name) {
  const std::string help = in_brackets(short_help(option));
  // "=" after a long name: the value may follow it or be the next word.
  const char* sign = !option.takes_value ? "" : name.starts_with("--") ? "=" : "+";
  std::string spec = fmt::format("*{}{}[{}]", name, sign, help);
  if (option.takes_value) {
    const std::string value = option.value.empty() ? "value" : option.value;
    spec += fmt::format(":{}:{}", in_brackets(value), action_of(verb, option));
  }
  return shell_quoted(spec);
}

void write_operands(const VerbFacts& verb, std::string& out) {
  if (takes_program(verb)) {
    out += " \\\n    '(-)1:program:_command_names -e' '*::arguments:_normal'";
    return;
  }
  std::size_t number = 0;
  for (const OptionFacts& operand : verb.operands) {
    const bool repeats = completion_of(operand) == Completion::kRuns;
    const std::string place = repeats ? "*" : std::to_string(++number);
    out += " \\\n    " + shell_quoted(fmt::format("{}:{}:{}", place, in_brackets(operand.names[0]),
                                                  action_of(verb, operand)));
  }
}

void write_verbs(const VerbFacts& verb, std::string& out) {
  out += " \\\n    '1:verb:->verb' '*::word:->word'\n  case $state in\n    verb)\n";
  out += "      local -a verbs=(\n";
  for (const VerbFacts& one : verb.verbs) {
    out += fmt::format("        {}\n",
                       shell_quoted(in_brackets(last_word(one.name)) + ":" + one.summary));
  }
  out += "      )\n      _describe 'verb' verbs ;;\n    word)\n      case $words[1] in\n";
  for (const VerbFacts& one : verb.verbs) {
    out += fmt::format("        {}) {} ;;\n", last_word(one.name), function_of(one));
  }
  out += "      esac ;;\n  esac\n";
}

void write_function(const VerbFacts& verb, std::string& out) {
  for (const VerbFacts& one : verb.verbs) write_function(one, out);
  out += fmt::format("{}() {{\n  local curcontext=$curcontext state line\n  typeset -A opt_args\n",
                     function_of(verb));
  // -S: after "--" nothing is an option.
  out += verb.verbs.empty() ? "  _arguments -s -S" : "  _arguments -C -s -S";
  for (const OptionFacts& option : verb.options) {
    for (const std::string& name : option.names) out += " \\\n    " + spec_of(verb, option, name);
  }
  if (verb.verbs.empty()) {
    write_operands(verb, out);
    out += "\n";
  } else {
    write_verbs(verb, out);
  }
  out += "}\n\n";
}

}  // namespace

std::string zsh_completion(const VerbFacts& geiger) {
  std::string out = kZshOpening;
  write_function(geiger, out);
  // As a file of $fpath this is the function's body, called at once; when sourced, not.
  return out +
         "if [[ $funcstack[1] == _geiger ]]; then _geiger \"$@\"; else compdef _geiger geiger; "
         "fi\n";
}

}  // namespace geiger::cli
