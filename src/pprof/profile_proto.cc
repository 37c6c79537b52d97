#include "pprof/profile_proto.h"

#include <algorithm>
#include <array>

namespace geiger::pprof {

namespace {

/// A label with one of these keys is not a pair: its tag would be taken for geiger's own.
constexpr std::array kOwnKeys{kLabelLabel, kThreadLabel,   kTypeLabel, kSizeLabel, kIntervalLabel,
                              kPairLabel,  kLifetimeLabel, kEndLabel,  kLeakLabel, kLeakOwnerLabel};

bool is_own(std::string_view key) { return std::ranges::find(kOwnKeys, key) != kOwnKeys.end(); }

/// 0: the label is not a pair.
std::size_t key_size(std::string_view label) {
  const std::size_t equals = label.find('=');
  const bool is_pair = equals != std::string_view::npos && equals + 1 < label.size();
  return is_pair && !is_own(label.substr(0, equals)) ? equals : 0;
}

std::string path_of(std::span<const std::string_view> innermost_first) {
  std::string path;
  for (auto label = innermost_first.rbegin(); label != innermost_first.rend(); ++label) {
    if (!path.empty()) path += kInLabel;
    path += *label;
  }
  return path;
}

std::vector<std::string> parts_of(std::string_view path) {
  std::vector<std::string> parts;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find(kInLabel), path.size());
    if (end > 0) parts.emplace_back(path.substr(0, end));
    path.remove_prefix(std::min(end + kInLabel.size(), path.size()));
  }
  return parts;
}

}  // namespace

std::vector<Tag> tags_of_labels(std::span<const std::string_view> innermost_first) {
  std::vector<Tag> tags;
  for (const std::string_view label : innermost_first) {
    const std::size_t size = key_size(label);
    const std::string_view key = label.substr(0, size);
    if (size > 0 && std::ranges::find(tags, key, &Tag::key) == tags.end()) {
      tags.push_back({std::string(key), std::string(label.substr(size + 1))});
    }
  }
  const bool is_lone_pair = innermost_first.size() == 1 && tags.size() == 1;
  if (!innermost_first.empty() && !is_lone_pair) {
    tags.push_back({std::string(kLabelLabel), path_of(innermost_first)});
  }
  return tags;
}

std::vector<std::string> labels_of_tags(std::span<const Tag> tags) {
  std::vector<std::string> labels;
  for (const Tag& tag : tags) {
    if (tag.key != kLabelLabel) continue;
    for (std::string& part : parts_of(tag.value)) labels.push_back(std::move(part));
  }
  for (const Tag& tag : tags) {
    if (tag.key.empty() || tag.value.empty() || is_own(tag.key)) continue;
    std::string pair = tag.key + "=" + tag.value;
    if (std::ranges::find(labels, pair) == labels.end()) labels.push_back(std::move(pair));
  }
  return labels;
}

}  // namespace geiger::pprof
