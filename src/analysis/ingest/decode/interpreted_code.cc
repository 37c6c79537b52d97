#include "analysis/ingest/decode/interpreted_code.h"

#include <algorithm>
#include <cstddef>
#include <limits>

namespace geiger::ingest {

// The three formats are described in CPython's Objects/lnotab_notes.txt (to 3.9, and 3.10) and
// Objects/locations.md (from 3.11 on).

namespace {

constexpr std::uint32_t kWithRanges = 0x030a;     // 3.10
constexpr std::uint32_t kWithLocations = 0x030b;  // 3.11
constexpr std::uint64_t kUnit = 2;

/// Of the location table: how an entry's line is stored.
constexpr unsigned kNoLocation = 15;
constexpr unsigned kLong = 14;
constexpr unsigned kNoColumns = 13;
constexpr unsigned kOneLine = 10;

/// Reads the line of one entry: groups of 6 bits, lowest first, the sign in the lowest bit of all.
std::int64_t signed_number(std::span<const std::uint8_t> bytes) {
  constexpr unsigned kMostBits = 30;
  std::uint64_t number = 0;
  unsigned shift = 0;
  for (const std::uint8_t byte : bytes) {
    if (shift > kMostBits) break;
    number |= std::uint64_t{byte & 0x3fU} << shift;
    shift += 6;
    if ((byte & 0x40U) == 0) break;
  }
  const auto magnitude = static_cast<std::int64_t>(number >> 1);
  return (number & 1) != 0 ? -magnitude : magnitude;
}

std::int64_t line_delta(unsigned code, std::span<const std::uint8_t> rest) {
  if (code == kLong || code == kNoColumns) return signed_number(rest);
  const bool is_one_line = code >= kOneLine && code < kNoColumns;
  return is_one_line ? code - kOneLine : 0;
}

bool begins_entry(std::uint8_t byte) { return (byte & 0x80U) != 0; }

}  // namespace

PythonLines::PythonLines(std::uint32_t version, std::int32_t first_line,
                         std::span<const std::uint8_t> table, bool is_cut)
    : first_line_(first_line) {
  const std::uint32_t minor = version >> 16;
  if (minor >= kWithLocations) {
    read_locations(table);
  } else if (minor >= kWithRanges) {
    read_ranges(table);
  } else {
    read_increments(table, is_cut);
  }
}

std::uint32_t PythonLines::at(std::uint32_t offset) const {
  const auto behind = std::ranges::upper_bound(stretches_, offset * kUnit, {}, &Stretch::start);
  if (behind != stretches_.begin()) return std::prev(behind)->line;
  return static_cast<std::uint32_t>(std::max<std::int64_t>(first_line_, 0));
}

/// Lines that no source can have count as unknown.
void PythonLines::add(std::uint64_t start, std::int64_t line) {
  if (line <= 0 || line > std::numeric_limits<std::int32_t>::max()) line = first_line_;
  const auto known = static_cast<std::uint32_t>(std::max<std::int64_t>(line, 0));
  if (!stretches_.empty() && stretches_.back().start == start) {
    stretches_.back().line = known;
  } else if (stretches_.empty() || stretches_.back().line != known) {
    stretches_.push_back({start, known});
  }
}

void PythonLines::add_unknown(std::uint64_t start) { add(start, first_line_); }

/// To 3.9: pairs of bytes to go forward and lines to add. The last stretch has no end.
void PythonLines::read_increments(std::span<const std::uint8_t> table, bool is_cut) {
  std::uint64_t start = 0;
  std::int64_t line = first_line_;
  add(start, line);
  for (std::size_t i = 0; i + 1 < table.size(); i += 2) {
    start += table[i];
    line += static_cast<std::int8_t>(table[i + 1]);
    add(start, line);
  }
  if (is_cut) add_unknown(start);
}

/// 3.10: pairs of bytes that a stretch has and lines to add before it; -128 = it has no line.
void PythonLines::read_ranges(std::span<const std::uint8_t> table) {
  constexpr std::int8_t kNoLine = -128;
  std::uint64_t start = 0;
  std::int64_t line = first_line_;
  for (std::size_t i = 0; i + 1 < table.size(); i += 2) {
    const auto delta = static_cast<std::int8_t>(table[i + 1]);
    if (delta != kNoLine) line += delta;
    if (table[i] != 0) add(start, delta == kNoLine ? first_line_ : line);
    start += table[i];
  }
  add_unknown(start);
}

/// From 3.11 on: entries begin with a byte with bit 7, the code in bits 3 to 6, and the number of
/// units less 1 in bits 0 to 2. What follows depends on the code.
void PythonLines::read_locations(std::span<const std::uint8_t> table) {
  std::uint64_t start = 0;
  std::int64_t line = first_line_;
  for (std::size_t i = 0; i < table.size();) {
    const unsigned code = table[i] >> 3 & 15U;
    const std::uint64_t bytes = ((table[i] & 7U) + 1) * kUnit;
    std::size_t next = i + 1;
    while (next < table.size() && !begins_entry(table[next])) ++next;
    line += line_delta(code, table.subspan(i + 1, next - i - 1));
    add(start, code == kNoLocation ? first_line_ : line);
    start += bytes;
    i = next;
  }
  add_unknown(start);
}

namespace {

/// Every line of a function has a frame with its texts, so a text that fills a record would
/// take its size as many times.
constexpr std::size_t kLongestName = 1000;
constexpr std::size_t kLongestFile = 4096;

std::string text_or_unknown(std::string_view text, std::size_t most) {
  // Not in the middle of a character.
  std::size_t end = std::min(text.size(), most);
  while (end < text.size() && end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) {
    --end;
  }
  return std::string(end == 0 ? kUnknownCode : text.substr(0, end));
}

}  // namespace

bool InterpretedCode::add(const trace::Record& record, const trace::CodeRecord& layout) {
  const auto version = versions_.find(layout.interpreter);
  if (version == versions_.end()) return false;
  const bool is_cut = (record.header.flags & trace::kFlagCutCode) != 0;
  codes_.insert_or_assign(
      record.ref(),
      Code{text_or_unknown(trace::name_of(record), kLongestName),
           text_or_unknown(trace::file_of(record), kLongestFile),
           static_cast<std::uint32_t>(std::max(layout.first_line, 0)),
           PythonLines(version->second, layout.first_line, trace::lines_of(record), is_cut)});
  return true;
}

std::optional<profile::Frame> InterpretedCode::frame_of(const trace::InterpretedFrame& word) const {
  const auto found = codes_.find(word.code);
  if (found == codes_.end()) return std::nullopt;
  const Code& code = found->second;
  const bool has_begun = word.offset != trace::InterpretedFrame::kNotBegun;
  return profile::Frame{
      code.name, {}, code.file, has_begun ? code.lines.at(word.offset) : code.first_line};
}

}  // namespace geiger::ingest
