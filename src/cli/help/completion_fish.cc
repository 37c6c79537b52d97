// One line per option; a condition names its verb.
#include <fmt/format.h>

#include "cli/help/completion.h"

namespace geiger::cli {
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

}  // namespace geiger::cli
