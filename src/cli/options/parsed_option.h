// Options whose values we parse ourselves: the only place that throws at the parser, and only for
// words that are wrong whatever the input is. All else that fails is a base::Outcome. Also options
// that take one of a few words.
#pragma once

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/outcome.h"
#include "cli/help/command_line.h"

namespace geiger::cli {

/// The value of an option's text, in a callback of the parser.
template <typename T>
T value_or_throw(const std::string& option, base::Outcome<T> parsed) {
  if (!parsed.has_value()) throw CLI::ValidationError(option, parsed.reason());
  return std::move(parsed.value());
}

/// Adds an option whose text `parse` reads, and `store` takes.
template <typename Parse, typename Store>
CLI::Option* add_parsed(CLI::App& verb, const std::string& name, const char* type,
                        const std::string& help, const Parse& parse, const Store& store) {
  const std::string shown = name.substr(0, name.find(','));
  return verb
      .add_option_function<std::string>(
          name,
          [shown, parse, store](const std::string& text) {
            store(value_or_throw(shown, parse(text)));
          },
          help)
      ->type_name(type);
}

/// The words of an option and what they stand for, in the order of its help.
template <typename Value>
using Choices = std::vector<std::pair<std::string, Value>>;

/// Adds an option that takes one of the words, and hands its value to `store`.
template <typename Value, typename Store>
CLI::Option* add_choice(CLI::App& verb, const std::string& name, const char* type,
                        const std::string& help, const Choices<Value>& choices,
                        const Store& store) {
  std::vector<std::string> words;
  for (const auto& [word, value] : choices) words.push_back(word);
  // The parser copies what it calls.
  const auto known = std::make_shared<const Choices<Value>>(choices);
  const auto take = [known, store](const std::string& word) {
    store(std::ranges::find(*known, word, &std::pair<std::string, Value>::first)->second);
  };
  return verb.add_option_function<std::string>(name, take, help)
      ->check(one_of(words))
      ->type_name(type);
}

}  // namespace geiger::cli
