// The source lines that a page embeds: those that frames are at, with some around each.
#pragma once

#include <string>
#include <vector>

#include "analysis/page/call_tree.h"
#include "analysis/page/page.h"

namespace geiger::page {

/// What is embedded at most.
inline constexpr std::size_t kMostSourceFiles = 500, kMostSourceLines = 20'000,
                             kMostLineBytes = 300;
/// Lines shown above and below each that appears.
inline constexpr std::uint32_t kLinesAround = 5;

struct Sources {
  std::vector<Source> found;          ///< `file` into the names that frames have theirs in.
  std::vector<std::string> left_out;  ///< What was not found or is too much, in words.
};

/// Reads what the frames of a tree refer to.
[[nodiscard]] Sources read_sources(const CallTree& tree, const Names& names,
                                   const ReadSource& read);

}  // namespace geiger::page
