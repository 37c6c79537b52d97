// Makes documents of a recording.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "analysis/profile/recording.h"
#include "base/outcome.h"
#include "fleet/document/document.h"

namespace geiger::fleet {

/// The step of the grid on which windows begin, in seconds.
inline constexpr std::int64_t kGrid = 600;

/// Facts that recordings do not contain.
struct Origin {
  std::string service, version, host;
  std::map<std::string, std::string> labels;
};

/// A process without documents, because they would not be valid: the trace is damaged, or contains
/// more than a store takes.
struct LeftOut {
  std::uint32_t process = 0;
  std::string reason;  ///< A clause.
};

struct CutRecording {
  std::vector<Document> documents;  ///< Valid ones (limits.h).
  std::vector<LeftOut> left_out;
};

/// The documents of all processes of a recording whose stacks were not trimmed: one per process and
/// window of the grid. An aggregated process has no instants and becomes one document, in the
/// window in which it began. A document with too many rows keeps those with most bytes; the samples
/// of the others go to the stack kUntoldStacks, so that totals do not change. Fails for profiles of
/// other programs, which have no exact counts.
[[nodiscard]] base::Outcome<CutRecording> cut(const profile::Recording& recording,
                                              const Origin& origin);

}  // namespace geiger::fleet
