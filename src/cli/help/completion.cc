#include "cli/help/completion.h"

#include <fmt/format.h>

#include <algorithm>

namespace geiger::cli {

std::string shell_quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) {
    // Ended, an escaped quote, begun again: the one form that all three read alike.
    if (c == '\'')
      out += "'\\''";
    else
      out += c == '\n' ? ' ' : c;
  }
  return out + "'";
}

std::string short_help(const OptionFacts& option) {
  const std::string line = option.help.substr(0, option.help.find('\n'));
  const std::size_t end = std::min(line.find(';'), line.find(" ("));
  std::string text = line.substr(0, end);
  while (text.ends_with(':') || text.ends_with(',')) text.pop_back();
  return text;
}

// One function: it finds the verb, then what may stand at the cursor.

namespace {

constexpr const char* kBashOpening =
    R"sh(# bash completion for geiger; made by 'geiger completion bash'
_geiger_processes() { command geiger ctl 2>/dev/null | awk '$1 ~ /^[0-9]+$/ { print $1 }'; }

_geiger() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
  local verb= options= values= verbs= operands= operand= program= i word
  COMPREPLY=()
  # --kind=live arrives as three words.
  if [[ $cur == = ]]; then cur=; elif [[ $prev == = ]]; then prev=${COMP_WORDS[COMP_CWORD - 2]}; fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    case "${verb:+$verb }$word" in
)sh";

constexpr const char* kAfterVerb = R"sh(      *) break ;;
    esac
  done
  case $verb in
)sh";

constexpr const char* kEnding = R"sh(  esac
  if [[ $program ]]; then
    for (( ; i < COMP_CWORD; i++)); do
      word=${COMP_WORDS[i]}
      if [[ $word == -- ]]; then ((i++)); break; fi
      if [[ $word != -* ]]; then break; fi
      if [[ ${COMP_WORDS[i + 1]} == = ]]; then ((i += 2)); continue; fi
      if [[ " $values " == *" $word "* ]]; then ((i++)); fi
    done
    if ((i < COMP_CWORD)); then
      if declare -F _command_offset >/dev/null; then _command_offset $i; else compopt -o default; fi
      return
    fi
    if ((i == COMP_CWORD)) && [[ $cur != -* ]]; then
      mapfile -t COMPREPLY < <(compgen -c -- "$cur")
      return
    fi
  fi
  case "$verb $prev" in
)sh";

constexpr const char* kOperands = R"sh(  esac
  if [[ $cur == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$cur")
  elif [[ $verbs ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$verbs" -- "$cur")
  elif [[ $operand == processes ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$(_geiger_processes) $operands" -- "$cur")
  elif [[ $operand == all-processes ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$(ps -U "$UID" -o pid=)" -- "$cur")
  elif [[ $operand == files ]]; then
    compopt -o filenames
    mapfile -t COMPREPLY < <(compgen -f -- "$cur")
  elif [[ $operands ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$operands" -- "$cur")
  fi
}
complete -F _geiger geiger
)sh";

std::string names_of(const std::vector<OptionFacts>& options, bool with_values_only) {
  std::string names;
  for (const OptionFacts& option : options) {
    if (with_values_only && !option.takes_value) continue;
    for (const std::string& name : option.names) names += (names.empty() ? "" : " ") + name;
  }
  return names;
}

std::string words_of_verbs(const VerbFacts& verb) {
  std::string names;
  for (const VerbFacts& one : verb.verbs) {
    names += (names.empty() ? "" : " ") + last_word(one.name);
  }
  return names;
}

void write_paths(const VerbFacts& verb, std::string& out) {
  for (const VerbFacts& one : verb.verbs) {
    out += fmt::format("      '{}') verb='{}' ;;\n", one.name, one.name);
    write_paths(one, out);
  }
}

std::string operand_words(const VerbFacts& verb) {
  std::string words;
  const char* kind = "";
  for (const OptionFacts& operand : verb.operands) {
    const Completion completion = completion_of(operand);
    if (completion == Completion::kChoices)
      words += fmt::format("{} ", fmt::join(operand.choices, " "));
    if (completion == Completion::kRuns || completion == Completion::kFiles) kind = "files";
    if (completion == Completion::kProcesses)
      kind = asks_all_processes(verb) ? "all-processes" : "processes";
  }
  return fmt::format("operand={} operands='{}'", kind, words);
}

void write_words(const VerbFacts& verb, std::string& out) {
  out += fmt::format("    '{}')\n      options='{}'\n", verb.name, names_of(verb.options, false));
  out += fmt::format("      verbs='{}' {} ", words_of_verbs(verb), operand_words(verb));
  out += fmt::format("values='{}' program={} ;;\n", names_of(verb.options, true),
                     takes_program(verb) ? "yes" : "");
  for (const VerbFacts& one : verb.verbs) write_words(one, out);
}

std::string reply_of(const OptionFacts& option) {
  switch (completion_of(option)) {
    case Completion::kChoices:
      return fmt::format(R"(mapfile -t COMPREPLY < <(compgen -W '{}' -- "$cur"))",
                         fmt::join(option.choices, " "));
    case Completion::kDirectories:
      return R"(compopt -o filenames; mapfile -t COMPREPLY < <(compgen -d -- "$cur"))";
    case Completion::kFiles:
    case Completion::kRuns:
      return R"(compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$cur"))";
    case Completion::kProcesses:
    case Completion::kNothing:
      return ":";
  }
  return ":";
}

void write_values(const VerbFacts& verb, std::string& out) {
  for (const OptionFacts& option : verb.options) {
    if (!option.takes_value) continue;
    std::string pattern;
    for (const std::string& name : option.names) {
      pattern += fmt::format("{}'{} {}'", pattern.empty() ? "" : " | ", verb.name, name);
    }
    out += fmt::format("    {}) {}; return ;;\n", pattern, reply_of(option));
  }
  for (const VerbFacts& one : verb.verbs) write_values(one, out);
}

}  // namespace

std::string bash_completion(const VerbFacts& geiger) {
  std::string out = kBashOpening;
  write_paths(geiger, out);
  out += kAfterVerb;
  write_words(geiger, out);
  out += kEnding;
  write_values(geiger, out);
  return out + kOperands;
}

// One line per option; a condition names its verb.

namespace {

constexpr const char* kFishOpening =
    R"sh(# fish completion for geiger; made by 'geiger completion fish'
function __geiger_processes
    command geiger ctl 2>/dev/null | string match -r '^ *[0-9]+ .*' | string replace -r '^ *([0-9]+) +(.*)' '$1\t$2'
end
# Whether the words before the cursor begin with these.
function __geiger_in
    set -l words (commandline -opc)
    set -e words[1]
    test (count $words) -ge (count $argv); or return 1
    for i in (seq (count $argv))
        test "$words[$i]" = "$argv[$i]"; or return 1
    end
end
# Whether these are all of them.
function __geiger_at
    set -l words (commandline -opc)
    test (count $words) -eq (math (count $argv) + 1); and __geiger_in $argv
end
# The program's own completion, behind the options of run; those given take a value.
function __geiger_program
    set -l words (commandline -opc)
    set -e words[1 2]
    while set -q words[1]; and string match -q -- '-*' $words[1]
        set -l word $words[1]
        set -e words[1]
        test "$word" = --; and break
        contains -- $word $argv; and set -e words[1]
    end
    complete -C (string join ' ' -- (string escape -- $words) (commandline -ct))
end
complete -c geiger -f
)sh";

std::string words_of(const VerbFacts& verb, const OptionFacts& option) {
  switch (completion_of(option)) {
    case Completion::kChoices:
      return fmt::format(" -x -a '{}'", fmt::join(option.choices, " "));
    case Completion::kDirectories:
      return " -x -a '(__fish_complete_directories)'";
    case Completion::kFiles:
    case Completion::kRuns:
      return " -r -F";
    case Completion::kProcesses:
      return fmt::format(" -x -a '({})'",
                         asks_all_processes(verb) ? "__fish_complete_pids" : "__geiger_processes");
    case Completion::kNothing:
      return " -x";
  }
  return "";
}

void write_options(const VerbFacts& verb, const std::string& condition, std::string& out) {
  for (const OptionFacts& option : verb.options) {
    out += "complete -c geiger" + condition;
    for (const std::string& name : option.names) {
      const bool is_long = name.starts_with("--");
      out += fmt::format(" -{} {}", is_long ? 'l' : 's', name.substr(is_long ? 2 : 1));
    }
    if (option.takes_value) out += words_of(verb, option);
    out += " -d " + shell_quoted(short_help(option)) + "\n";
  }
}

void write_operands(const VerbFacts& verb, const std::string& condition, std::string& out) {
  if (takes_program(verb)) {
    std::string valued;
    for (const OptionFacts& option : verb.options) {
      if (option.takes_value) valued += fmt::format("{} ", fmt::join(option.names, " "));
    }
    out +=
        "complete -c geiger" + condition + fmt::format(" -x -a '(__geiger_program {})'\n", valued);
  }
  for (const OptionFacts& operand : verb.operands) {
    const Completion completion = completion_of(operand);
    if (completion == Completion::kNothing) continue;
    const bool is_file = completion == Completion::kRuns || completion == Completion::kFiles;
    out += "complete -c geiger" + condition + (is_file ? " -F" : words_of(verb, operand)) + "\n";
  }
}

void write_verb(const VerbFacts& verb, std::string& out) {
  const std::string words = verb.name.empty() ? "" : " " + verb.name;
  const std::string in =
      verb.name.empty() ? " -n __geiger_at" : fmt::format(" -n '__geiger_in{}'", words);
  for (const VerbFacts& one : verb.verbs) {
    out += fmt::format("complete -c geiger -n '__geiger_at{}' -a {} -d {}\n", words,
                       last_word(one.name), shell_quoted(one.summary));
  }
  write_options(verb, in, out);
  write_operands(verb, in, out);
  for (const VerbFacts& one : verb.verbs) write_verb(one, out);
}

}  // namespace

std::string fish_completion(const VerbFacts& geiger) {
  std::string out = kFishOpening;
  write_verb(geiger, out);
  return out;
}

// One function per verb, each of them the words of _arguments.

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
