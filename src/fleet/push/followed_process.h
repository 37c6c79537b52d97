// One process image that an agent follows: what it has counted since the last document.
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
#include "fleet/push/resident_mean.h"
#include "fleet/push/sent.h"
#include "fleet/push/spool.h"

namespace geiger::fleet {

/// The instant at which windows are cut.
struct Now {
  Nanoseconds monotonic = 0;
  std::int64_t realtime = 0;    ///< Nanoseconds since 1970, corrected by the skew.
  std::int64_t correction = 0;  ///< Nanoseconds that were taken off the host's clock.
  std::int32_t skew_ms = 0;
  std::int64_t grid = 600;  ///< Seconds.
  /// Processes that the kernel has killed for lack of memory since it started.
  std::uint64_t oom_kills = 0;
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
  /// Nothing is left to send, and the process is gone.
  [[nodiscard]] bool is_all_sent() const { return sent_.is_finished || is_exhausted_; }
  /// Nothing more is sent of it.
  void give_up() { is_given_up_ = true; }

  void add(std::unique_ptr<ingest::InputFile> trace) {
    const std::string path = trace->path();
    follower_->add(std::move(trace), path);
  }
  void look(Nanoseconds now) { follower_->update(now); }
  /// The process has this much memory from now on.
  void note_resident(Nanoseconds now, Bytes bytes) { resident_.add(now, bytes); }
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
  [[nodiscard]] base::Outcome<void> record_end(const Span& span, const Now& now);
  [[nodiscard]] base::Outcome<void> keep(const Document& document, const Sent& next);

  std::string name_;
  const Names& names_;
  Spool& spool_;
  Spool::Log log_;
  std::unique_ptr<follow::Follower> follower_;
  Sent sent_;
  ResidentMean resident_;      ///< Since the last document.
  std::int64_t next_due_ = 0;  ///< Unix nanoseconds: before, no picture need be made.
  bool is_given_up_ = false;
  bool is_exhausted_ = false;
  bool is_end_recorded_ = false;
  std::optional<std::uint64_t> oom_kills_;  ///< When it was last seen to run.
};

}  // namespace geiger::fleet
