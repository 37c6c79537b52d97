// A table of texts: each text is stored once and has a number.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analysis/page/page_data.h"

namespace geiger::page {

class Names {
 public:
  NameIndex intern(std::string_view text) {
    const auto found = known_.find(text);
    if (found != known_.end()) return found->second;
    const auto next = static_cast<NameIndex>(texts_.size());
    known_.emplace(texts_.emplace_back(text), next);
    return next;
  }

  [[nodiscard]] const std::string& operator[](NameIndex name) const {
    return texts_[static_cast<std::size_t>(name)];
  }
  [[nodiscard]] std::size_t size() const { return texts_.size(); }

 private:
  std::deque<std::string> texts_;  ///< They do not move: the keys are views into them.
  std::unordered_map<std::string_view, NameIndex> known_;
};

/// The names of a larger set that a page uses, numbered in order of first use.
class UsedNames {
 public:
  explicit UsedNames(const Names& all) : all_(all), number_(all.size(), kNoName) {}

  NameIndex of(NameIndex name) {
    if (name == kNoName) return kNoName;
    NameIndex& number = number_[static_cast<std::size_t>(name)];
    if (number == kNoName) {
      number = static_cast<NameIndex>(used_.size());
      used_.push_back(name);
    }
    return number;
  }

  /// Those used so far, in the order of their numbers.
  [[nodiscard]] const std::vector<NameIndex>& used() const { return used_; }

  /// Their texts; those longer than `most` bytes are cut and marked as cut; `cut` counts them.
  [[nodiscard]] std::vector<std::string> texts(std::size_t most, std::uint64_t& cut) const;

 private:
  const Names& all_;
  std::vector<NameIndex> number_;
  std::vector<NameIndex> used_;
};

/// Longest name, path or sentence in the page, bytes.
inline constexpr std::size_t kMostTextBytes = 1000;

/// `text`, or its first `most` bytes with how many more there were: "void f<int, ... (+1,024
/// bytes)".
[[nodiscard]] std::string shortened(std::string_view text, std::size_t most);

}  // namespace geiger::page
