// The functions of interpreted programs in one image, and the source lines of CPython's bytecode.
#pragma once

#include <tsl/robin_map.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/profile/recording/recording.h"
#include "trace/reader.h"

namespace geiger::ingest {

// Which source line an instruction of CPython's bytecode belongs to, by the line table that the
// interpreter keeps with the code. The tables come from traces, so they may be cut or hostile.

/// A line table, decoded once: memory is bounded by a constant times the size of the table.
class PythonLines {
 public:
  /// `version` as Py_Version, 0x030b02f0 = 3.11.2: it decides the format. `is_cut`: the end of
  /// the table is missing.
  PythonLines(std::uint32_t version, std::int32_t first_line, std::span<const std::uint8_t> table,
              bool is_cut);

  /// The line of the instruction `offset` units of 2 bytes into the code. Instructions without a
  /// line, and those that the table does not reach, have the function's first line; 0 = unknown.
  [[nodiscard]] std::uint32_t at(std::uint32_t offset) const;

 private:
  /// A stretch of instructions of one line, up to the next one's start.
  struct Stretch {
    std::uint64_t start;  ///< Bytes from the start of the code.
    std::uint32_t line;
  };

  void read_increments(std::span<const std::uint8_t> table, bool is_cut);
  void read_ranges(std::span<const std::uint8_t> table);
  void read_locations(std::span<const std::uint8_t> table);
  void add(std::uint64_t start, std::int64_t line);
  void add_unknown(std::uint64_t start);

  std::int64_t first_line_;
  std::vector<Stretch> stretches_;  ///< By start, ascending.
};

// The functions of interpreted programs in one image: from a word of a stack to function, file
// and line.

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
