// `holders --core` without a recording: what holds the blocks of a heap, by root and size.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/present/fields.h"
#include "analysis/present/text.h"
#include "analysis/profile/recording/observations.h"

namespace geiger::report {

/// Counted, so nothing in it has an interval.
struct BlocksReport {
  std::string core;     ///< The path of the core file.
  std::string program;  ///< The process's name.
  std::uint32_t pid = 0;
  std::size_t top = 10;                    ///< Parts shown as text; 0: all.
  std::vector<profile::HeldBlocks> parts;  ///< The largest first.
  Bytes unread = 0, not_understood = 0;
};

/// "1.2 MiB in 340 blocks is unreachable."
[[nodiscard]] std::string sentence(const BlocksReport& report);
[[nodiscard]] std::string to_text(const BlocksReport& report, const present::Style& style);
[[nodiscard]] std::string to_json(const BlocksReport& report);
[[nodiscard]] const present::Fields<BlocksReport>& fields_of(present::Of<BlocksReport> /*type*/);

}  // namespace geiger::report
