#include "cli/help/command_line.h"

#include <fmt/format.h>
#include <sys/types.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "base/text.h"
#include "query/words.h"

namespace geiger::cli {

namespace {

bool is_option(std::string_view word) { return word.size() > 1 && word.front() == '-'; }

// True if the option's value is the next word; nothing if the option is unknown.
std::optional<bool> wants_next_word(std::string_view word, const TakesValue& takes_value) {
  if (word.starts_with("--")) {
    const auto equals = word.find('=');
    const auto takes = takes_value(word.substr(0, equals));
    if (!takes) return std::nullopt;
    return *takes && equals == std::string_view::npos;
  }
  for (std::size_t i = 1; i < word.size(); ++i) {
    const auto takes = takes_value(std::string{'-', word[i]});
    if (!takes) return std::nullopt;
    if (*takes) return i + 1 == word.size();
  }
  return false;
}

}  // namespace

base::Outcome<CommandLine> divide(const std::vector<std::string>& words,
                                  const TakesValue& takes_value) {
  CommandLine line;
  std::size_t next = 0;
  for (; next < words.size() && is_option(words[next]); ++next) {
    if (words[next] == "--") {
      ++next;
      break;
    }
    const auto wants_next = wants_next_word(words[next], takes_value);
    if (!wants_next) {
      return base::Failure{fmt::format("unknown option '{}'", words[next])};
    }
    line.options.push_back(words[next]);
    if (*wants_next && next + 1 < words.size()) line.options.push_back(words[++next]);
  }
  line.program.assign(words.begin() + static_cast<std::ptrdiff_t>(next), words.end());
  return line;
}

void shield_divider(std::vector<std::string>& words) {
  std::ranges::replace(words, std::string("--"), kDivider);
}

CLI::Validator one_of(const std::vector<std::string>& words) {
  const auto known = std::make_shared<const std::vector<std::string>>(words);
  const auto refusal = [known](const std::string& word) -> std::string {
    if (std::ranges::find(*known, word) != known->end()) return {};
    const std::string hint = query::did_you_mean(word, *known);
    if (!hint.empty()) return fmt::format("unknown '{}'{}", word, hint);
    return fmt::format("invalid value '{}' (choose from {})", word, fmt::join(*known, ", "));
  };
  return {refusal, fmt::format("{{{}}}", fmt::join(words, ","))};
}

CLI::Validator process_id() {
  const auto refusal = [](const std::string& word) -> std::string {
    const auto pid = base::number_in<pid_t>(word);
    if (pid && *pid > 0) return {};
    return fmt::format("'{}' is not a process id; 'pidof NAME' prints a program's", word);
  };
  return {refusal, ""};
}

namespace {

bool has_verb(const CLI::App& app, const std::string& word) {
  return std::ranges::count(verb_names(app), word) > 0;
}

/// The name alone of "--name=value".
std::string name_of(const std::string& word) { return word.substr(0, word.find('=')); }

bool is_long_option(const std::string& word) { return word.size() > 2 && word.starts_with("--"); }

/// The first word that looks like a long option and is not an option of `verb`.
std::optional<std::string> find_unknown_option(const CLI::App& verb,
                                               const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    if (word == "--") break;
    const bool is_known = verb.get_option_no_throw(name_of(word)) != nullptr;
    if (is_long_option(word) && !is_known) return name_of(word);
  }
  return std::nullopt;
}

/// Whether a word looks like an option but is not one of the verb or of its formats.
bool is_unknown_to_all(const CLI::App& verb, const std::string& word) {
  const auto has_it = [&](const CLI::App* app) {
    return app->get_option_no_throw(name_of(word)) != nullptr;
  };
  return is_long_option(word) && !has_it(&verb) &&
         std::ranges::none_of(verb.get_subcommands({}), has_it);
}

std::string missing_format(const CLI::App& verb, const std::vector<std::string>& words) {
  const auto formats = verb_names(verb);
  const std::string known = fmt::format("{}", fmt::join(formats, ", "));
  if (words.size() > 1 && is_unknown_to_all(verb, words[1])) {
    return unknown_option(verb, name_of(words[1]));
  }
  if (words.size() < 2 || words[1].starts_with('-')) {
    return fmt::format("{}: incomplete (choose from {})", verb.get_name(), known);
  }
  const std::string meant = query::did_you_mean(words[1], formats);
  return fmt::format("{}: unknown '{}'{}", verb.get_name(), words[1],
                     meant.empty() ? fmt::format(" (choose from {})", known) : meant);
}

}  // namespace

std::vector<std::string> verb_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const auto* verb : app.get_subcommands({})) names.push_back(verb->get_name());
  return names;
}

std::string unknown_option(const CLI::App& verb, const std::string& word) {
  std::vector<std::string> names;
  for (const CLI::Option* option : verb.get_options()) {
    for (const auto& name : option->get_lnames()) names.push_back("--" + name);
  }
  return fmt::format("unknown option '{}'{}", word, query::did_you_mean(word, names));
}

std::optional<std::string> option_without_value(const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    if (is_long_option(word) && word.find('=') == word.size() - 1) {
      return name_of(word) + ": no value given";
    }
  }
  return std::nullopt;
}

std::string refusal_of(const CLI::ParseError& error, const CLI::App& app,
                       const std::vector<std::string>& words) {
  if (words.empty() || !has_verb(app, words[0])) return error.what();
  const CLI::App* verb = app.get_subcommand(words[0]);
  if (!verb_names(*verb).empty()) {
    if (words.size() < 2 || !has_verb(*verb, words[1])) return missing_format(*verb, words);
    verb = verb->get_subcommand(words[1]);
  }
  const bool is_extra = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr;
  if (!is_extra) return error.what();
  const auto unknown = find_unknown_option(*verb, words);
  return unknown ? unknown_option(*verb, *unknown) : error.what();
}

}  // namespace geiger::cli
