// Formats the output of --help.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace geiger::cli {

/// "-o, --output FILE": the word for a value without the list of what is accepted, which
/// the text of the option says in words. Texts are filled to the width of the terminal.
class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_description(const CLI::App* app) const override;
  std::string make_usage(const CLI::App* app, std::string name) const override;
  std::string make_option(const CLI::Option* option, bool is_positional) const override;
  std::string make_subcommand(const CLI::App* verb) const override;
  std::string make_option_name(const CLI::Option* option, bool is_positional) const override;
  std::string make_option_opts(const CLI::Option* option) const override;
  std::string make_footer(const CLI::App* app) const override;
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override;

 private:
  [[nodiscard]] std::string row(const std::string& name, const std::string& text) const;
};

/// With a usage of its own, of a verb with words that CLI11 does not know about.
class UsageFormatter : public HelpFormatter {
 public:
  /// `usage`: "geiger run [options] [--] PROGRAM [ARGUMENTS...]"; lines end with a newline.
  explicit UsageFormatter(std::string usage) : usage_("Usage: " + std::move(usage)) {}
  std::string make_usage(const CLI::App* /*app*/, std::string /*name*/) const override {
    return usage_;
  }

 private:
  std::string usage_;
};

/// The parts between dividers; a divider at the end adds none.
[[nodiscard]] std::vector<std::string> split(std::string_view text, char divider);

/// What an option's value is called: CLI11 puts a colon and what the value is checked by after
/// it. A colon in brackets belongs to the name: SIZE[:COUNT].
[[nodiscard]] std::string name_of_type(std::string_view type);

/// `app` and every verb below: those that say nothing of their exit codes say the common ones.
void document_exit_codes(CLI::App& app);

}  // namespace geiger::cli
