#include "cli/program.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/check.h"
#include "cli/help/command_line.h"
#include "cli/help/help_formatter.h"
#include "cli/options/ending.h"
#include "cli/options/run_options.h"
#include "modules/module.h"
#include "query/words.h"

namespace geiger::cli {
namespace {

using Commands = std::span<const Command>;

const Command* command_named(Commands commands, std::string_view word) {
  const auto found = std::ranges::find(commands, word, &Command::name);
  return found != commands.end() ? &*found : nullptr;
}

int unknown_verb(const CLI::App& app, const std::string& verb) {
  const std::string hint = query::did_you_mean(verb, verb_names(app));
  return end_with(usage_failure(fmt::format("unknown verb '{}'{}", verb, hint)), "geiger");
}

// Replaces the words after the verb by geiger's options and the program's words in
// the form that the parser leaves alone.
base::Outcome<std::vector<std::string>> shield_program(const CLI::App& run,
                                                       const std::vector<std::string>& words) {
  std::string unknown;
  const auto takes_value = [&run, &unknown](std::string_view name) -> std::optional<bool> {
    const auto* option = run.get_option_no_throw(std::string(name));
    if (option == nullptr) unknown = name;
    if (option == nullptr) return std::nullopt;
    return option->get_items_expected_max() > 0;
  };
  const auto line = divide({words.begin() + 1, words.end()}, takes_value);
  if (!line.has_value()) {
    return usage_failure(unknown_option(run, unknown));
  }
  std::vector<std::string> shielded{words.front()};
  const auto& [options, program] = line.value();
  shielded.insert(shielded.end(), options.begin(), options.end());
  for (const auto& word : program) shielded.push_back(as_program_word(word));
  const bool asks_for_help = std::any_of(options.begin(), options.end(), [](const auto& word) {
    return word == "-h" || word == "--help";
  });
  if (program.empty() && !asks_for_help) {
    return usage_failure(words.front() + ": no program given");
  }
  return shielded;
}

// Shields the words after a "--", for verbs in which only that begins the program's own words.
void shield_words_behind_divider(std::vector<std::string>& words) {
  const auto divider = std::find(words.begin(), words.end(), "--");
  if (divider == words.end()) return;
  std::transform(divider + 1, words.end(), divider + 1, as_program_word);
  words.erase(divider);
}

// The words in the form in which the parser does not take those of a program, or "--", for its own.
base::Outcome<std::vector<std::string>> shield(const Command& command, CLI::App& app,
                                               std::vector<std::string> words) {
  switch (command.words) {
    case Words::kOperands:
      break;
    case Words::kProgram:
      return shield_program(*app.get_subcommand(command.name), words);
    case Words::kProgramAfterDivider:
      shield_words_behind_divider(words);
      break;
    case Words::kSides:
      shield_divider(words);
      break;
  }
  return words;
}

/// Chooses the work. The exit code is that of what the parser does itself, such as --help; without
/// work, it is the whole answer.
base::Outcome<int> parse(CLI::App& app, const std::vector<std::string>& words) {
  if (const auto empty = option_without_value(words)) return usage_failure(*empty);
  try {
    std::vector<std::string> last_first(words.rbegin(), words.rend());  // As CLI11 takes them.
    app.parse(last_first);
    return kExitOk;
  } catch (const CLI::Success& done) {
    return app.exit(done);
  } catch (const CLI::ParseError& error) {
    return usage_failure(refusal_of(error, app, words));
  }
}

void describe(CLI::App& app, bool& wants_python_path) {
  app.set_version_flag("-V,--version", "geiger " GEIGER_VERSION);
  app.add_flag("--python-path", wants_python_path,
               "Print the directory of geiger.py, for PYTHONPATH\n(docs/guide/python.md)");
  app.footer(
      "\nStart here:\n"
      "  geiger run -- PROGRAM ARGUMENTS...   profile a program\n"
      "  geiger table                         where its memory went\n"
      "\nSizes: 512KiB is 2^19 bytes, 512kB is 512,000. Every number is an estimate with\n"
      "its 95 % interval unless marked exact.\n"
      "\nExit codes: 0 success, 1 failure or damaged input, 2 usage error; for 'check',\n"
      "'leaks --fail' and 'faults --fail' also 3 limit exceeded, suspects or faults, and\n"
      "4 undecided; for 'attach' 3 that the process ended. 'run' returns the program's own\n"
      "exit code; 125, 126 and 127 mean that the program was not started.");
}

/// How to ask for the help of the verb that the words begin with, or of the one in it.
std::string help_for(const CLI::App& app, const std::vector<std::string>& words) {
  std::string help = "geiger " + words[0];
  if (words.size() < 2) return help;
  const auto inner = verb_names(*app.get_subcommand(words[0]));
  const bool is_inner = std::ranges::find(inner, words[1]) != inner.end();
  return is_inner ? help + " " + words[1] : help;
}

int run(int argc, char** argv, Commands commands) {
  CLI::App app("An allocation profiler that says how sure it is of every number.", "geiger");
  app.formatter(std::make_shared<HelpFormatter>());  // Verbs inherit it.
  app.require_subcommand(0, 1);                      // A path named like a verb is a path.
  Work work;
  // A program waits for `run`: it does without the other verbs, which take longer to describe
  // than all else until the program starts.
  const Command* command = argc > 1 ? command_named(commands, argv[1]) : nullptr;
  if (command != nullptr && command->words == Words::kProgram) {
    command->add(app, work);
  } else {
    for (const Command& one : commands) one.add(app, work);
  }
  bool wants_python_path = false;
  describe(app, wants_python_path);  // After the verbs, which would inherit it.
  document_exit_codes(app);
  std::vector<std::string> words(argv + 1, argv + argc);
  if (words.empty()) {
    fmt::print("{}", app.help());
    return kExitUsage;
  }
  if (command == nullptr && !words[0].starts_with("-")) return unknown_verb(app, words[0]);
  const std::string help = command != nullptr ? help_for(app, words) : "geiger";
  if (command != nullptr) {
    const auto shielded = shield(*command, app, words);
    if (!shielded.has_value()) return end_with(shielded.failure(), help);
    words = shielded.value();
  }
  base::Outcome<int> ending = parse(app, words);
  if (wants_python_path) {
    fmt::print("{}\n", (modules::install_root() / "share" / "geiger" / "python").string());
  }
  if (ending.has_value() && ending.value() == kExitOk && work) ending = work();
  return ending.has_value() ? ending.value() : end_with(ending.failure(), help);
}

/// What failed, and what the user can do about it. Allocates nothing: memory may be short.
void report(const std::exception& error) {
  const char* cause = "";
  const char* what = error.what();
  const auto* system = dynamic_cast<const std::system_error*>(&error);
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) {
    what = "out of memory: raise the limit (ulimit -v, the container's), or choose less to read";
  } else if (system != nullptr && system->code() == std::errc::resource_unavailable_try_again) {
    what = "cannot start a thread: raise the limit of processes or memory (ulimit -u, ulimit -v)";
  } else if (dynamic_cast<const base::InternalError*>(&error) != nullptr) {
    cause = "internal error: ";
  }
  std::fprintf(stderr, "geiger: %s%s\n", cause, what);
}

// `run` keeps the small codes for the program.
constexpr int kOwnFailure = 125;

}  // namespace

int run_program(int argc, char** argv, Commands commands) {
  try {
    return run(argc, argv, commands);
  } catch (const std::exception& error) {
    report(error);
    const Command* command = argc > 1 ? command_named(commands, argv[1]) : nullptr;
    const bool is_run = command != nullptr && command->words == Words::kProgram;
    return is_run ? kOwnFailure : kExitFailed;
  }
}

}  // namespace geiger::cli
