#include "cli/frame_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <utility>
#include <variant>

#include "cli/text_file.h"

namespace geiger::cli {
namespace {

using profile::FrameRules;

/// The rules of the file; without one, none.
Outcome<FrameRules> read_rules(const std::string& named) {
  using Result = Outcome<FrameRules>;
  std::error_code error;
  if (named.empty() && !std::filesystem::exists(kRulesFile, error)) return FrameRules();
  const std::string path = named.empty() ? kRulesFile : named;
  const auto text = read_text_file(path);
  if (!text.has_value()) return Result::failure("--rules: " + text.reason());
  auto rules = FrameRules::parse(text.value());
  if (const auto* wrong = std::get_if<FrameRules::Error>(&rules)) {
    return Result::failure(fmt::format("{}:{}: {}", path, wrong->line, wrong->reason));
  }
  return std::move(std::get<FrameRules>(rules));
}

void add_rule_options(CLI::App& verb, FrameOptions& options) {
  verb.add_option("--hide", options.hidden,
                  "Leave out frames whose function, module or file matches; their\ncallers are "
                  "blamed; may be repeated")
      ->type_name("REGEX")
      ->allow_extra_args(false);
  verb.add_option("--rules", options.rules_file,
                  "Which code is own, of a library or plumbing: lines\n\"own|library|plumbing|hide "
                  "REGEX\" (default: .geiger-rules here)")
      ->type_name("FILE");
}

}  // namespace

void add_frame_options(CLI::App& verb, FrameOptions& options) {
  verb.add_flag("--plumbing", options.shows_plumbing,
                "Show frames of allocators, standard libraries and interpreters\ntoo, and blame "
                "the innermost one");
  add_rule_options(verb, options);
}

void add_all_frames_options(CLI::App& verb, FrameOptions& options) {
  options.shows_plumbing = true;
  verb.add_flag_callback(
      "--no-plumbing", [&options] { options.shows_plumbing = false; },
      "Leave out frames of allocators, standard libraries and\ninterpreters, as reports do");
  add_rule_options(verb, options);
}

Outcome<std::shared_ptr<const FrameRules>> frame_rules_of(const FrameOptions& options) {
  using Result = Outcome<std::shared_ptr<const FrameRules>>;
  auto rules = read_rules(options.rules_file);
  if (!rules.has_value()) return Result::failure(rules.reason());
  for (const std::string& expression : options.hidden) {
    auto pattern = profile::NamePattern::parse(expression);
    if (const auto* reason = std::get_if<std::string>(&pattern)) {
      return Result::failure(fmt::format("--hide '{}': {}", expression, *reason));
    }
    rules.value().add(profile::FrameRole::kHidden,
                      std::move(std::get<profile::NamePattern>(pattern)));
  }
  rules.value().shows_plumbing = options.shows_plumbing;
  return std::make_shared<const FrameRules>(std::move(rules.value()));
}

}  // namespace geiger::cli
