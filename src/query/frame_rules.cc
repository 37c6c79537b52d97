#include "query/frame_rules.h"

#include <fmt/format.h>

#include <utility>

#include "query/text_file.h"

namespace geiger::query {
namespace {

using profile::FrameRules;

base::Outcome<FrameRules> parse_rules(base::Outcome<std::string> read, const std::string& path) {
  const std::string text = GEIGER_TRY(std::move(read).with_prefix("--rules: "));
  return FrameRules::parse(text).with_prefix(path + ":");
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
  auto rules = GEIGER_TRY(named.empty() ? read_rules_here(remarks)
                                        : parse_rules(read_text_file(named), named));
  for (const std::string& expression : options.hidden) {
    auto pattern = GEIGER_TRY(profile::NamePattern::parse(expression).with_prefix("--hide "));
    rules.add(profile::FrameRole::kHidden, std::move(pattern));
  }
  rules.shows_plumbing = options.shows_plumbing;
  rules.frames = options.frames;
  return std::make_shared<const FrameRules>(std::move(rules));
}

}  // namespace geiger::query
