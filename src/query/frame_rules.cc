#include "query/frame_rules.h"

#include <fmt/format.h>

#include <utility>

#include "query/text_file.h"

namespace geiger::query {
namespace {

using profile::FrameRules;

base::Outcome<FrameRules> parse_rules(const base::Outcome<std::string>& text,
                                      const std::string& path) {
  if (!text.has_value()) return base::Failure{"--rules: " + text.reason()};
  auto rules = FrameRules::parse(text.value());
  if (!rules.has_value()) return base::Failure{path + ":" + rules.reason()};
  return rules;
}

/// The rules of the working directory; none where there is no file, or it is ignored.
base::Outcome<FrameRules> read_rules_here(std::vector<std::string>& remarks) {
  const auto file = open_own_file(kRulesFile);
  if (!file.has_value()) {
    remarks.push_back(
        fmt::format("./{0} is ignored: {1} (to use it: --rules {0})", kRulesFile, file.reason()));
    return FrameRules();
  }
  if (!file->is_open()) return FrameRules();
  return parse_rules(read_text(file.value(), kRulesFile), kRulesFile);
}

}  // namespace

base::Outcome<std::shared_ptr<const FrameRules>> frame_rules_of(const FrameOptions& options,
                                                                std::vector<std::string>& remarks) {
  const std::string& named = options.rules_file;
  auto rules = named.empty() ? read_rules_here(remarks) : parse_rules(read_text_file(named), named);
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
