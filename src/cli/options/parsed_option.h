// Options whose values we parse ourselves: the only place that throws at the parser, and only for
// words that are wrong whatever the input is. All else that fails is a base::Outcome.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <utility>

#include "base/outcome.h"

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

}  // namespace geiger::cli
