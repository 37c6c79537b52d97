// The functions of interpreted programs in one image: from a word of a stack to function, file
// and line.
#pragma once

#include <tsl/robin_map.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "analysis/ingest/decode/python_lines.h"
#include "analysis/profile/hash.h"
#include "analysis/profile/recording.h"
#include "trace/reader.h"

namespace geiger::ingest {

/// Function and file of a frame whose code was never written, and of code without a name.
inline constexpr std::string_view kUnknownCode = "<unknown>";

class InterpretedCode {
 public:
  void add_interpreter(trace::Ref ref, std::uint32_t version) { versions_[ref] = version; }
  /// False, and nothing is added, where its interpreter is not known.
  [[nodiscard]] bool add(const trace::Record& record, const trace::CodeRecord& layout);

  /// Nothing where its code is not known.
  [[nodiscard]] std::optional<profile::Frame> frame_of(const trace::InterpretedFrame& word) const;

 private:
  struct Code {
    std::string name, file;
    std::uint32_t first_line;
    PythonLines lines;
  };
  tsl::robin_map<trace::Ref, std::uint32_t, profile::SpreadHash> versions_;
  tsl::robin_map<trace::Ref, Code, profile::SpreadHash> codes_;
};

}  // namespace geiger::ingest
