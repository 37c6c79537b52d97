// What an agent has sent of a process, which survives it.
//
// A document is the difference of two cumulative pictures. The earlier one is a file that is
// renamed into place once the document is in the spool, so that a crash at any point neither loses
// a window nor counts one twice:
//
//   1. PROCESS.next: what will have been sent, and the document's key
//   2. the document, into the spool
//   3. PROCESS.next becomes PROCESS.state
//
// After a crash a .next counts if its document is in the spool, and is removed if it is not.
// Nothing is sent between 2 and 3.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/outcome.h"
#include "base/units.h"
#include "fleet/document/rows.h"
#include "fleet/push/durable_directory.h"
#include "fleet/push/spool.h"

namespace geiger::fleet {

/// How the files of a state end.
inline constexpr const char* kNextEnd = ".next";
inline constexpr const char* kStateEnd = ".state";

/// What was put into the spool so far.
struct Sent {
  Key key;                     ///< Of the latest document; `started` 0: no document yet.
  Nanoseconds end = 0;         ///< CLOCK_MONOTONIC: where its window ends; 0: nothing was sent.
  std::uint64_t sequence = 0;  ///< Of the next document.
  std::uint64_t first_segment = 0, missing_segments = 0;
  bool is_finished = false;  ///< The process has ended, and all of it was sent.
  bool is_document = false;  ///< The latest step put a document, not only a gap.
  std::uint64_t exact_bytes = 0, trials = 0, hits = 0, dropped = 0;
  std::map<RowKey, std::uint64_t> allocated;
};

[[nodiscard]] std::string encode(const Sent& sent);
[[nodiscard]] base::Outcome<Sent> decode_sent(std::string_view bytes);

/// Reads a file of encode()'s.
[[nodiscard]] base::Outcome<Sent> read_sent(const DurableDirectory& state, const std::string& name);

/// Decides what a crash left of all processes. Before anything is sent.
[[nodiscard]] base::Outcome<void> recover(const Spool& spool);

}  // namespace geiger::fleet
