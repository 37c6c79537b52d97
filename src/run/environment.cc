#include "run/environment.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "trace/share.h"

namespace geiger::run {
namespace {

constexpr std::string_view kPreload = "LD_PRELOAD=";
constexpr std::array<std::string_view, 11> kOwnVariables{
    "GEIGER_DIR=",      "GEIGER_INTERVAL=", "GEIGER_SEED=",   "GEIGER_MODE=",
    "GEIGER_CAPACITY=", "GEIGER_SEGMENT=",  "GEIGER_KEEP=",   "GEIGER_LIVE=",
    "GEIGER_BROKER=",   "GEIGER_GUARD=",    "GEIGER_FRAMES=",
};

bool is_own(std::string_view word) {
  return std::any_of(kOwnVariables.begin(), kOwnVariables.end(),
                     [&](std::string_view name) { return word.starts_with(name); });
}

std::string mode_words(const RuntimeSettings& settings, int program) {
  const std::string root = fmt::format("root={}", program);
  std::vector<std::string_view> words{root};
  if (settings.is_pure) words.emplace_back("pure");
  if (settings.uses_frame_pointers) words.emplace_back("fp");
  if (settings.python == RuntimeSettings::Python::kStacks) words.emplace_back("pystacks");
  if (settings.python == RuntimeSettings::Python::kOff) words.emplace_back("nopython");
  if (!settings.follows_children) words.emplace_back("nochildren");
  if (settings.starts_paused) words.emplace_back("paused");
  if (settings.is_dormant) words.emplace_back("dormant");
  if (settings.records_free_stacks) words.emplace_back("freestacks");
  if (!settings.records_mappings) words.emplace_back("nomappings");
  if (settings.aggregates) words.emplace_back("aggregate");
  return fmt::format("{}", fmt::join(words, ","));
}

std::string interval_word(const RuntimeSettings& settings) {
  if (settings.share == 0) return fmt::format("{}", settings.interval);
  const auto share = std::llround(settings.share * static_cast<double>(trace::kPerMillion));
  return fmt::format("auto:{}", std::max(share, 1LL));
}

}  // namespace

Environment own_environment() {
  Environment words;
  for (char** word = environ; word != nullptr && *word != nullptr; ++word)
    words.emplace_back(*word);
  return words;
}

Environment with_preload(Environment inherited, const std::string& preload) {
  const auto existing =
      std::find_if(inherited.begin(), inherited.end(),
                   [](const std::string& word) { return word.starts_with(kPreload); });
  if (existing == inherited.end()) {
    inherited.push_back(std::string(kPreload) + preload);
    return inherited;
  }
  const std::string rest = existing->substr(kPreload.size());
  *existing = std::string(kPreload) + preload + (rest.empty() ? "" : ":" + rest);
  return inherited;
}

Environment without_runtime(Environment inherited) {
  std::erase_if(inherited, is_own);
  return inherited;
}

std::string directory_word(const std::string& directory) { return "GEIGER_DIR=" + directory; }

Environment runtime_words(const RuntimeSettings& settings, const std::string& directory,
                          int program) {
  Environment words;
  words.push_back(directory_word(directory));
  words.push_back("GEIGER_INTERVAL=" + interval_word(settings));
  words.push_back(fmt::format("GEIGER_CAPACITY={}", settings.capacity));
  if (settings.segment != 0) words.push_back(fmt::format("GEIGER_SEGMENT={}", settings.segment));
  if (settings.keep != 0) words.push_back(fmt::format("GEIGER_KEEP={}", settings.keep));
  if (settings.live != 0) words.push_back(fmt::format("GEIGER_LIVE={}", settings.live));
  if (settings.frames != 0) words.push_back(fmt::format("GEIGER_FRAMES={}", settings.frames));
  if (settings.guard_rate != 0)
    words.push_back(fmt::format("GEIGER_GUARD={}", settings.guard_rate));
  if (!settings.broker.empty()) words.push_back("GEIGER_BROKER=" + settings.broker);
  if (settings.seed) words.push_back(fmt::format("GEIGER_SEED={}", *settings.seed));
  words.push_back("GEIGER_MODE=" + mode_words(settings, program));
  return words;
}

Environment with_runtime(Environment inherited, const RuntimeSettings& settings,
                         const std::string& preload, const std::string& directory, int program) {
  Environment words = with_preload(without_runtime(std::move(inherited)), preload);
  for (auto& word : runtime_words(settings, directory, program)) words.push_back(std::move(word));
  return words;
}

}  // namespace geiger::run
