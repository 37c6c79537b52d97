#include "analysis/page/sources.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "analysis/present/format.h"
#include "analysis/present/text.h"
#include "base/text.h"

namespace geiger::page {
namespace {

/// Most names of missing files to report.
constexpr std::size_t kFilesSaid = 5;
constexpr std::size_t kMostNameBytes = 200;

/// The lines that frames are at, by file.
std::map<NameIndex, std::set<std::uint32_t>> lines_by_file(const CallTree& tree) {
  std::map<NameIndex, std::set<std::uint32_t>> lines;
  for (const Frame& frame : tree.frames()) {
    if (frame.file != kNoName && frame.line > 0) lines[frame.file].insert(frame.line);
  }
  return lines;
}

std::vector<std::string> split_lines(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) lines.push_back(shortened(base::take_part(text), kMostLineBytes));
  return lines;
}

/// Stretches of lines, those that touch together.
std::vector<Source> stretches_of(NameIndex file, const std::vector<std::string>& lines,
                                 const std::set<std::uint32_t>& wanted) {
  std::vector<Source> out;
  for (const std::uint32_t line : wanted) {
    if (line > lines.size()) continue;  // The file is another one than it was.
    const std::uint32_t first = line > kLinesAround ? line - kLinesAround : 1;
    const auto last =
        std::min<std::uint32_t>(line + kLinesAround, static_cast<std::uint32_t>(lines.size()));
    const bool touches = !out.empty() && first <= out.back().from + out.back().lines.size();
    if (!touches) out.push_back({file, first, {}});
    Source& source = out.back();
    const auto have = source.from + static_cast<std::uint32_t>(source.lines.size());
    for (std::uint32_t at = std::max(have, first); at <= last; ++at) {
      source.lines.push_back(lines[at - 1]);
    }
  }
  return out;
}

std::string missing_text(const std::vector<std::string>& missing) {
  return fmt::format("{} not found here: {}", present::plural(missing.size(), "source file"),
                     present::first_of(missing, kFilesSaid, std::identity()));
}

}  // namespace

Sources read_sources(const CallTree& tree, const Names& names, const ReadSource& read) {
  Sources out;
  std::vector<std::string> missing;
  std::size_t files = 0;
  std::size_t lines = 0;
  std::size_t too_much = 0;
  for (const auto& [file, wanted] : lines_by_file(tree)) {
    if (files >= kMostSourceFiles || lines >= kMostSourceLines) {
      ++too_much;
      continue;
    }
    const auto text = read(names[file]);
    if (!text) {
      missing.push_back(shortened(names[file], kMostNameBytes));
      continue;
    }
    ++files;
    for (Source& source : stretches_of(file, split_lines(*text), wanted)) {
      lines += source.lines.size();
      out.found.push_back(std::move(source));
    }
  }
  if (!missing.empty()) out.left_out.push_back(missing_text(missing));
  if (too_much > 0) {
    out.left_out.push_back(present::plural(too_much, "further source file"));
  }
  return out;
}

}  // namespace geiger::page
