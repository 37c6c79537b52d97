#include "analysis/profile/lives/suppressions.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/profile/trimmed.h"

namespace geiger::profile {
namespace {

constexpr std::string_view kType = "leak:";

/// The pattern of a line.
base::Outcome<std::string> pattern_of(std::string_view line) {
  if (!line.starts_with(kType)) {
    return base::Failure{quoted(line) + " does not begin with leak:"};
  }
  const std::string_view pattern = line.substr(kType.size());
  if (pattern.find_first_not_of("*^$") == std::string_view::npos) {
    return base::Failure{"leak: must be followed by part of a name"};
  }
  const std::size_t end = pattern.find('$');
  if (end != std::string_view::npos && end + 1 < pattern.size()) {
    return base::Failure{"$ is allowed only at the end of a pattern"};
  }
  return std::string(pattern);
}

/// Whether `parts` between stars follow one another in `name`, the first at the front and
/// the last at the back where they are held there.
bool follow(std::string_view parts, std::string_view name, bool is_at_front, bool is_at_back) {
  while (true) {
    const std::size_t star = parts.find('*');
    const std::string_view part = parts.substr(0, star);
    const bool is_last = star == std::string_view::npos;
    if (is_last && is_at_back) {
      return is_at_front ? name == part : name.ends_with(part);
    }
    const std::size_t at =
        is_at_front ? (name.starts_with(part) ? 0 : std::string_view::npos) : name.find(part);
    if (at == std::string_view::npos) return false;
    if (is_last) return true;
    name.remove_prefix(at + part.size());
    parts.remove_prefix(star + 1);
    is_at_front = false;
  }
}

}  // namespace

bool matches_suppression(std::string_view pattern, std::string_view name) {
  const bool is_at_front = pattern.starts_with('^');
  if (is_at_front) pattern.remove_prefix(1);
  const bool is_at_back = pattern.ends_with('$');
  if (is_at_back) pattern.remove_suffix(1);
  return follow(pattern, name, is_at_front, is_at_back);
}

base::Outcome<Suppressions> Suppressions::parse(std::string_view text) {
  Suppressions found;
  const auto take = [&](std::string_view line, std::size_t /*number*/) -> base::Outcome<void> {
    found.patterns_.push_back(GEIGER_TRY(pattern_of(line)));
    return {};
  };
  GEIGER_TRY(read_lines(text, take));
  return found;
}

std::uint32_t Suppressions::match(const Recording& recording, std::uint32_t stack) const {
  if (stack == kNone) return kNone;
  const auto is_in = [&](const std::string& pattern) {
    const auto fits = [&](std::string_view name) { return matches_suppression(pattern, name); };
    return std::ranges::any_of(recording.stacks[stack].locations, [&](std::uint32_t index) {
      const Location& location = recording.locations[index];
      if (location.module != kNone && fits(recording.modules[location.module].path)) return true;
      return std::ranges::any_of(location.frames, [&](std::uint32_t frame) {
        return fits(recording.frames[frame].function) || fits(recording.frames[frame].file);
      });
    });
  };
  const auto found = std::ranges::find_if(patterns_, is_in);
  return found == patterns_.end() ? kNone : static_cast<std::uint32_t>(found - patterns_.begin());
}

}  // namespace geiger::profile
