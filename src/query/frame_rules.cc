#include "query/frame_rules.h"

#include <fmt/format.h>

#include <filesystem>
#include <utility>
#include <variant>

#include "query/text_file.h"

namespace geiger::query {
namespace {

using profile::FrameRules;

/// The rules of the file; without one, none.
base::Outcome<FrameRules> read_rules(const std::string& named) {
  using Result = base::Outcome<FrameRules>;
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

}  // namespace

base::Outcome<std::shared_ptr<const FrameRules>> frame_rules_of(const FrameOptions& options) {
  using Result = base::Outcome<std::shared_ptr<const FrameRules>>;
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

}  // namespace geiger::query
