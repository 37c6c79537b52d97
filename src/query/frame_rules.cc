#include "query/frame_rules.h"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "query/text_file.h"

namespace geiger::query {
namespace {

using profile::FrameRules;

/// The rules of the file; without one, none.
base::Outcome<FrameRules> read_rules(const std::string& named) {
  std::error_code error;
  if (named.empty() && !std::filesystem::exists(kRulesFile, error)) return FrameRules();
  const std::string path = named.empty() ? kRulesFile : named;
  const auto text = read_text_file(path);
  if (!text.has_value()) return base::Failure{"--rules: " + text.reason()};
  auto rules = FrameRules::parse(text.value());
  if (!rules.has_value()) return base::Failure{path + ":" + rules.reason()};
  return rules;
}

}  // namespace

base::Outcome<std::shared_ptr<const FrameRules>> frame_rules_of(const FrameOptions& options) {
  auto rules = read_rules(options.rules_file);
  if (!rules.has_value()) return rules.failure();
  for (const std::string& expression : options.hidden) {
    auto pattern = profile::NamePattern::parse(expression);
    if (!pattern.has_value()) return base::Failure{"--hide " + pattern.reason()};
    rules.value().add(profile::FrameRole::kHidden, std::move(pattern.value()));
  }
  rules.value().shows_plumbing = options.shows_plumbing;
  rules.value().frames = options.frames;
  return std::make_shared<const FrameRules>(std::move(rules.value()));
}

}  // namespace geiger::query
