#include "cli/help/help_formatter.h"

#include <string_view>
#include <utility>

namespace geiger::cli {

std::string name_of_type(std::string_view type) {
  int depth = 0;
  for (std::size_t i = 0; i < type.size(); ++i) {
    if (type[i] == ':' && depth == 0) return std::string(type.substr(0, i));
    depth += (type[i] == '[' ? 1 : 0) - (type[i] == ']' ? 1 : 0);
  }
  return std::string(type);
}

std::string HelpFormatter::make_option_name(const CLI::Option* option, bool is_positional) const {
  if (is_positional) return CLI::Formatter::make_option_name(option, is_positional);
  std::string names;
  for (const auto& name : option->get_snames()) names += (names.empty() ? "-" : ", -") + name;
  for (const auto& name : option->get_lnames()) names += (names.empty() ? "--" : ", --") + name;
  return names;
}

std::string HelpFormatter::make_usage(const CLI::App* app, std::string name) const {
  constexpr std::string_view kAnonymous = "SUBCOMMAND";
  std::string usage = CLI::Formatter::make_usage(app, std::move(name));
  const std::size_t at = usage.find(kAnonymous);
  const char* word = app->get_parent() == nullptr ? "VERB" : "FORMAT";
  return at == std::string::npos ? usage : usage.replace(at, kAnonymous.size(), word);
}

std::string HelpFormatter::make_option_opts(const CLI::Option* option) const {
  const std::string type = option->get_type_name();
  const std::string value = name_of_type(type);
  const bool has_value = option->get_type_size() != 0 && !option->get_positional();
  return has_value && !value.empty() ? " " + value : "";
}

std::string HelpFormatter::make_footer(const CLI::App* app) const {
  std::string footer = app->get_footer();
  footer.erase(0, footer.find_first_not_of('\n'));
  while (footer.ends_with('\n')) footer.pop_back();
  return footer.empty() ? "" : footer + "\n";
}

void document_exit_codes(CLI::App& app) {
  constexpr const char* kCommon =
      "\nExit code: 0 success, 1 failure or damaged input, 2 usage error.";
  const std::string footer = app.get_footer();
  if (footer.find("Exit code") == std::string::npos) {
    const bool is_ended = footer.empty() || footer.ends_with('\n');
    app.footer(footer + (is_ended ? "" : "\n") + kCommon);
  }
  for (CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; })) {
    document_exit_codes(*verb);
  }
}

}  // namespace geiger::cli
