#include "study/composition.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <charconv>
#include <limits>
#include <optional>
#include <string>

#include "analysis/profile/trimmed.h"
#include "query/sizes.h"

namespace geiger::study {
namespace {

using Group = base::Outcome<SampleGroup>;

constexpr std::uint64_t kMostSamples = std::uint64_t{1} << 53;
constexpr Bytes kLargestSize = std::numeric_limits<std::int64_t>::max();  // as malloc's

/// The text before the next `mark`; `rest` is the text after it.
std::string_view take_until(std::string_view& rest, char mark) {
  const std::size_t end = std::min(rest.find(mark), rest.size());
  const std::string_view field = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return profile::trimmed(field);
}

std::optional<std::uint64_t> parse_count(std::string_view text) {
  std::uint64_t count = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, count);
  if (error != std::errc{} || at != end || count == 0 || count > kMostSamples) return std::nullopt;
  return count;
}

std::optional<bool> parse_flag(std::string_view text) {
  if (text == "1" || text == "true") return true;
  if (text == "0" || text == "false" || text.empty()) return false;
  return std::nullopt;
}

/// The words of a group, still as text.
struct Fields {
  std::string_view size, interval, count, certain, offset;
};

/// Reads the offset of a sample into `group`; the reason why not, or nothing.
std::string add_offset(SampleGroup& group, std::string_view text) {
  if (text.empty()) return "";
  if (group.is_certain) return "an object recorded with certainty has no offset";
  const auto offset = query::parse_size(text);
  if (!offset.has_value()) return offset.reason();
  if (offset.value() >= group.size) {
    return fmt::format("offset {} is outside an object of {} bytes (0 to {})", offset.value(),
                       group.size, group.size - 1);
  }
  group.offset = offset.value();
  return "";
}

Group group_of(const Fields& fields) {
  const auto certain = parse_flag(fields.certain);
  if (!certain) return Group::failure(fmt::format("'{}' is not 0 or 1", fields.certain));
  const auto size = query::parse_size(fields.size);
  if (!size.has_value()) return Group::failure(size.reason());
  if (size.value() == 0) return Group::failure("an object of 0 bytes has no bytes to estimate");
  if (size.value() > kLargestSize) {
    return Group::failure(fmt::format("'{}' is too large for the size of an object", fields.size));
  }
  SampleGroup group{size.value(), 0, 1, *certain};
  if (!*certain) {
    const auto interval = query::parse_size(fields.interval);
    if (!interval.has_value()) return Group::failure(interval.reason());
    if (interval.value() == 0) return Group::failure("an interval must be at least 1 byte");
    group.interval = interval.value();
  }
  const auto count = parse_count(fields.count);
  if (!count) {
    return Group::failure(fmt::format("'{}' is not a number of samples (1 to 2^53)", fields.count));
  }
  group.count = *count;
  const std::string reason = add_offset(group, fields.offset);
  if (!reason.empty()) return Group::failure(reason);
  return group;
}

Group parse_csv(std::string_view line) {
  Fields fields;
  fields.size = take_until(line, ',');
  fields.interval = take_until(line, ',');
  fields.count = take_until(line, ',');
  fields.certain = take_until(line, ',');
  fields.offset = take_until(line, ',');
  if (!line.empty())
    return Group::failure("too many fields (expected size,interval,count,certain,offset)");
  if (fields.count.empty()) fields.count = "1";
  return group_of(fields);
}

/// Numbers and words alike as text, so that "512KiB" is as good as 524288.
std::string text_of(const simdjson::dom::element& value) {
  std::string_view word;
  return value.get(word) == simdjson::SUCCESS ? std::string(word) : simdjson::to_string(value);
}

Group parse_json(std::string_view line) {
  simdjson::dom::parser parser;
  simdjson::dom::object object;
  if (parser.parse(simdjson::padded_string(line)).get(object) != simdjson::SUCCESS) {
    return Group::failure("this is not a JSON object");
  }
  std::string size, interval, count = "1", certain, offset;
  for (const auto& [key, value] : object) {
    if (key == "size") {
      size = text_of(value);
    } else if (key == "interval") {
      interval = text_of(value);
    } else if (key == "count") {
      count = text_of(value);
    } else if (key == "certain") {
      certain = text_of(value);
    } else if (key == "offset") {
      offset = text_of(value);
    } else {
      return Group::failure(fmt::format("unknown key '{}'", key));
    }
  }
  return group_of({size, interval, count, certain, offset});
}

bool is_skipped(std::string_view line) {
  return line.empty() || line.front() == '#' || line.starts_with("size");
}

}  // namespace

base::Outcome<SampleGroup> parse_sample_group(std::string_view text) {
  if (text.find('@') == std::string_view::npos) {
    return Group::failure(fmt::format("'{}' is not SIZE[+OFFSET]@INTERVAL[:COUNT]", text));
  }
  Fields fields;
  std::string_view object = take_until(text, '@');
  const bool has_offset = object.find('+') != std::string_view::npos;
  fields.size = take_until(object, '+');
  fields.offset = object;
  if (has_offset && object.empty()) return Group::failure("no offset after '+'");
  const bool has_count = text.find(':') != std::string_view::npos;
  fields.interval = take_until(text, ':');
  fields.count = has_count ? text : "1";
  return group_of(fields);
}

base::Outcome<SampleGroup> parse_certain_group(std::string_view text) {
  Fields fields;
  const bool has_count = text.find(':') != std::string_view::npos;
  fields.size = take_until(text, ':');
  fields.count = has_count ? text : "1";
  fields.certain = "1";
  return group_of(fields);
}

base::Outcome<std::vector<SampleGroup>> parse_sample_lines(std::string_view text) {
  std::vector<SampleGroup> groups;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::string_view line = take_until(text, '\n');
    if (is_skipped(line)) continue;
    const Group group = line.front() == '{' ? parse_json(line) : parse_csv(line);
    if (!group.has_value()) {
      return base::Outcome<std::vector<SampleGroup>>::failure(
          fmt::format("line {}: {}", number, group.reason()));
    }
    groups.push_back(group.value());
  }
  return groups;
}

}  // namespace geiger::study
