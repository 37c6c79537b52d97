// One function: it finds the verb, then what may stand at the cursor.
#include <fmt/format.h>

#include "cli/help/completion.h"

namespace geiger::cli {
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

}  // namespace geiger::cli
