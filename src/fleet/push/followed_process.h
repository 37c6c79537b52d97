// One process image that an agent follows: what it has counted since the last document.
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
#include <memory>
#include <optional>
#include <string>

#include "analysis/follow/follower.h"
#include "base/outcome.h"
#include "fleet/document/rows.h"
#include "fleet/push/process_names.h"
#include "fleet/push/spool.h"

namespace geiger::fleet {

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

/// Decides what a crash left of all processes. Before anything is sent.
[[nodiscard]] base::Outcome<void> recover(const Spool& spool);

/// The instant at which windows are cut.
struct Now {
  Nanoseconds monotonic = 0;
  std::int64_t realtime = 0;    ///< Nanoseconds since 1970, corrected by the skew.
  std::int64_t correction = 0;  ///< Nanoseconds that were taken off the host's clock.
  std::int32_t skew_ms = 0;
  std::int64_t grid = 600;  ///< Seconds.
};

class FollowedProcess {
 public:
  struct Names {
    ProcessNames given;
    std::string host;
    std::map<std::string, std::string> labels;
  };

  /// `name`: of its state in the spool, whose directory must be there.
  FollowedProcess(std::string name, const Names& names, Spool& spool, Spool::Log log);

  /// Reads what was sent before.
  [[nodiscard]] base::Outcome<void> load();
  [[nodiscard]] bool is_finished() const { return sent_.is_finished || is_given_up_; }
  /// Nothing more is sent of it.
  void give_up() { is_given_up_ = true; }

  void add(const std::string& path) { follower_->add(path, path); }
  void look(Nanoseconds now) { follower_->update(now); }
  /// Puts what was counted since the last document into the spool, if a step of the grid is over,
  /// the process has ended, or `is_last`. Where it fails the next document has it.
  [[nodiscard]] base::Outcome<void> cut(const Now& now, bool is_last, bool is_written);

 private:
  struct Span {
    Nanoseconds begin = 0, end = 0;  ///< CLOCK_MONOTONIC.
    std::int64_t started = 0;        ///< Unix seconds of the begin, on the grid.
    std::int64_t begin_second = 0;
    bool is_due = false;  ///< A step of the grid is over.
  };

  [[nodiscard]] Span span_of(const profile::Process& process, const Now& now,
                             bool is_running) const;
  [[nodiscard]] Document document_of(const profile::Recording& recording,
                                     const SharedStacks& stacks, const Span& span, const Now& now,
                                     Sent& next) const;
  [[nodiscard]] base::Outcome<void> begin_anew(const Span& span, Sent next,
                                               const std::string& reason);
  [[nodiscard]] base::Outcome<void> keep(const Document& document, const Sent& next);
  [[nodiscard]] std::string path(const char* kind) const;

  std::string name_;
  const Names& names_;
  Spool& spool_;
  Spool::Log log_;
  std::unique_ptr<follow::Follower> follower_;
  Sent sent_;
  bool is_given_up_ = false;
};

}  // namespace geiger::fleet
