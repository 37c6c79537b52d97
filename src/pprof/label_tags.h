// The tags that a sample's labels become in a pprof profile, and back.
//
// A label `key=value` becomes the tag `key` with the text `value`; of several with one key the
// innermost counts. The tag `label` is the path of all labels, as reports write it, unless there
// is but one and it is such a pair. So no label is lost, and pprof can select by key
// (-tagfocus=tenant=acme) and by path (-tagfocus=label=...).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace geiger::pprof {

struct Tag {
  std::string key, value;
  bool operator==(const Tag&) const = default;
};

/// Between the labels of a path.
inline constexpr std::string_view kInLabel = " / ";

/// The tags of the labels in force, innermost first: in the order of the labels, then the path.
[[nodiscard]] std::vector<Tag> tags_of_labels(std::span<const std::string_view> innermost_first);

/// The labels that have these tags, outermost first: those of the path, then pairs that are not
/// in it. Tags of geiger's own keys are not labels.
[[nodiscard]] std::vector<std::string> labels_of_tags(std::span<const Tag> tags);

}  // namespace geiger::pprof
