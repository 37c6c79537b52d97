#include "query/samples.h"

#include <algorithm>
#include <charconv>
#include <string>

#include "query/words.h"

namespace geiger::query {
namespace {

constexpr std::uint64_t kMostAlike = std::uint64_t{1} << 53;
constexpr Bytes kLargestObject = Bytes{1} << 62;
constexpr std::string_view kSpace = " \t\r\n";

/// Takes `mark` and what follows it off the end of `text`; nothing where it is not there.
std::optional<std::string_view> take_after(std::string_view& text, char mark) {
  const std::size_t at = text.find(mark);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view rest = text.substr(at + 1);
  text = text.substr(0, at);
  return rest;
}

/// Why there is no size in `text`, empty if there is one, which `size` gets.
std::string read_size(std::string_view text, Bytes least, Bytes most, Bytes& size) {
  const auto parsed = parse_size(text);
  if (!parsed.has_value()) return parsed.reason();
  size = parsed.value();
  if (size >= least && size <= most) return "";
  return "'" + std::string(text) + "' is not from " + std::to_string(least) + " to " +
         std::to_string(most) + " bytes";
}

std::string read_count(std::string_view text, std::uint64_t& count) {
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, count);
  if (error == std::errc{} && at == end && count <= kMostAlike) return "";
  return "'" + std::string(text) + "' is not a number of samples (0 to 2^53)";
}

std::string read_group(std::string_view text, SampleGroup& group) {
  const auto count = take_after(text, ':');
  const auto interval = take_after(text, '@');
  const auto offset = take_after(text, '+');
  std::string reason = read_size(text, 1, kLargestObject, group.size);
  if (reason.empty() && interval) reason = read_size(*interval, 1, ~Bytes{0}, group.interval);
  if (reason.empty() && count) reason = read_count(*count, group.count);
  if (!reason.empty() || !offset) return reason;
  group.offset.emplace();
  return read_size(*offset, 0, group.size - 1, *group.offset);
}

}  // namespace

base::Outcome<std::vector<SampleGroup>> parse_samples(std::string_view text, Bytes interval) {
  std::vector<SampleGroup> groups;
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(kSpace), text.size()));
    if (text.empty()) return groups;
    const bool is_comment = text.front() == '#';
    const std::size_t end = std::min(text.find_first_of(is_comment ? "\n" : kSpace), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(end);
    if (is_comment) continue;
    SampleGroup group{.interval = interval};
    const std::string reason = read_group(word, group);
    if (!reason.empty()) {
      return base::Failure{"invalid sample '" + std::string(word) + "': " + reason};
    }
    groups.push_back(group);
  }
}

}  // namespace geiger::query
