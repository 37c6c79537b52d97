// Options whose values we parse ourselves: the only place that throws at the parser, and only for
// words that are wrong whatever the input is. All else that fails is a base::Outcome. Also options
// that take one of a few words.
#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/outcome.h"
#include "base/text.h"
#include "cli/help/command_line.h"
#include "query/words.h"

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

template <typename Into>
struct NumberOf {
  using Type = Into;
};
template <typename Number>
struct NumberOf<std::optional<Number>> {
  using Type = Number;
};

/// Adds an option that takes a number from `least` to `most`.
template <typename Into, typename Number = typename NumberOf<Into>::Type>
CLI::Option* add_number(CLI::App& verb, const std::string& name, const char* type, Into& into,
                        const std::string& help, std::type_identity_t<Number> least = 0,
                        std::type_identity_t<Number> most = std::numeric_limits<Number>::max()) {
  const auto parse = [least, most](const std::string& text) -> base::Outcome<Number> {
    const auto number = base::number_in<Number>(text);
    if (number && *number >= least && *number <= most) return *number;
    const bool is_bounded = most < std::numeric_limits<Number>::max();
    return base::Failure{fmt::format("invalid number '{}' ({} {})", text, least,
                                     is_bounded ? fmt::format("to {}", most) : "or more")};
  };
  return add_parsed(verb, name, type, help, parse, [&into](Number number) { into = number; });
}

/// Adds an option that takes a share, above 0 and up to `most`: "5%" or "0.05".
template <typename Store>
CLI::Option* add_share(CLI::App& verb, const std::string& name, const std::string& help,
                       double most, const Store& store) {
  const auto parse = [most](const std::string& text) -> base::Outcome<double> {
    const auto share = query::parse_share(text);
    if (share.has_value() && share.value() <= most) return share;
    return base::Failure{
        fmt::format("invalid share '{}' (above 0% and up to {:g}%)", text, 100 * most)};
  };
  return add_parsed(verb, name, "SHARE", help, parse, store);
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
