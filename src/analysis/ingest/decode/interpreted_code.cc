#include "analysis/ingest/decode/interpreted_code.h"

#include <algorithm>

namespace geiger::ingest {
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
  return profile::Frame{code.name, {}, code.file,
                        has_begun ? code.lines.at(word.offset) : code.first_line};
}

}  // namespace geiger::ingest
