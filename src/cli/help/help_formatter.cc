#include "cli/help/help_formatter.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/present/text.h"
#include "base/text.h"
#include "terminal/terminal.h"

namespace geiger::cli {
namespace {

/// Whether a line of a help text is the rest of the sentence before it, and not a line of its own:
/// an example, which is indented, or an item of a list.
bool runs_on(const std::string& before, const std::string& line) {
  if (before.empty() || line.empty()) return false;
  return before[0] != ' ' && line[0] != ' ' && before.back() != ':' && before.back() != ';';
}

/// Lines, each with those that run on from it.
std::vector<std::string> rejoined(const std::vector<std::string>& lines) {
  std::vector<std::string> paragraphs;
  for (const std::string& line : lines) {
    if (!paragraphs.empty() && runs_on(paragraphs.back(), line)) {
      paragraphs.back() += " " + line;
    } else {
      paragraphs.push_back(line);
    }
  }
  return paragraphs;
}

/// `text` in lines of the width of help: as it is where it fits, else filled again. Lines after the
/// first begin with `indent` spaces.
std::string filled(const std::string& text, std::size_t indent) {
  const std::size_t width = terminal::help_width();
  std::vector<std::string> paragraphs = split(text, '\n');
  const bool fits = std::ranges::all_of(
      paragraphs, [&](const std::string& line) { return indent + line.size() <= width; });
  if (!fits) paragraphs = rejoined(paragraphs);
  std::string out;
  for (const std::string& one : paragraphs) {
    if (&one != paragraphs.data()) out += "\n" + std::string(one.empty() ? 0 : indent, ' ');
    out += one.starts_with(' ') ? one : present::wrap(one, indent, width);
  }
  return out;
}

}  // namespace

std::vector<std::string> split(std::string_view text, char divider) {
  std::vector<std::string> parts;
  while (!text.empty()) parts.emplace_back(base::take_part(text, divider));
  return parts;
}

std::string name_of_type(std::string_view type) {
  int depth = 0;
  for (std::size_t i = 0; i < type.size(); ++i) {
    if (type[i] == ':' && depth == 0) return std::string(type.substr(0, i));
    depth += (type[i] == '[' ? 1 : 0) - (type[i] == ']' ? 1 : 0);
  }
  return std::string(type);
}

std::string HelpFormatter::row(const std::string& name, const std::string& text) const {
  const std::size_t indent = get_column_width();
  std::string out = "  " + name;
  if (!text.empty()) {
    if (out.size() >= indent) {
      out += "\n" + std::string(indent, ' ');
    } else {
      out.resize(indent, ' ');
    }
  }
  return out + filled(text, indent) + "\n";
}

std::string HelpFormatter::make_option(const CLI::Option* option, bool is_positional) const {
  return row(make_option_name(option, is_positional) + make_option_opts(option),
             make_option_desc(option));
}

std::string HelpFormatter::make_subcommand(const CLI::App* verb) const {
  return row(verb->get_display_name(true), verb->get_description());
}

std::string HelpFormatter::make_option_name(const CLI::Option* option, bool is_positional) const {
  if (is_positional) return CLI::Formatter::make_option_name(option, is_positional);
  std::string names;
  for (const auto& name : option->get_snames()) names += (names.empty() ? "-" : ", -") + name;
  for (const auto& name : option->get_lnames()) names += (names.empty() ? "--" : ", --") + name;
  return names;
}

std::string HelpFormatter::make_description(const CLI::App* app) const {
  return filled(app->get_description(), 0) + "\n";
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
  return footer.empty() ? "" : filled(footer, 0) + "\n";
}

// A group of hidden options leaves an empty line beside the one after it.
std::string HelpFormatter::make_help(const CLI::App* app, std::string name,
                                     CLI::AppFormatMode mode) const {
  std::string help = CLI::Formatter::make_help(app, std::move(name), mode);
  for (std::size_t at = help.find("\n\n\n"); at != std::string::npos; at = help.find("\n\n\n", at))
    help.erase(at, 1);
  return help;
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
