// One process image that an agent follows: what it has counted since the last document.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "analysis/follow/follower.h"
#include "analysis/profile/recording/recording.h"
#include "base/outcome.h"
#include "base/units.h"
#include "fleet/document/cut.h"
#include "fleet/push/process_context.h"
#include "fleet/push/spool.h"

namespace geiger::fleet {

// What a process is called in a fleet, where no option says it.

struct ProcessNames {
  std::string service, version;
  ResourceTexts resource = {};  ///< All that is said of it, for OTLP.
};

/// By OpenTelemetry's variables in an environment (NAME=VALUE, each ended by a zero byte):
/// OTEL_SERVICE_NAME, else service.name of OTEL_RESOURCE_ATTRIBUTES; service.version there. Empty
/// where they do not say it.
[[nodiscard]] ProcessNames names_in_environment(std::string_view environment);

/// A process and what runs in it.
struct RunningProgram {
  std::uint32_t pid = 0;
  std::string executable, build_id;
};

/// By what its SDK publishes, then by the environment of the process, if it still runs here; else
/// by its executable and the first digits of its build id. What is given stays.
[[nodiscard]] ProcessNames names_of(const RunningProgram& program, const ProcessNames& given);
/// The program of a process that was recorded.
[[nodiscard]] RunningProgram program_of(const profile::Recording& recording,
                                        const profile::Process& process);

// Resident memory of a process over a window: each reading holds until the next one.

class ResidentMean {
 public:
  /// The process has this many bytes from now on.
  void add(Nanoseconds now, Bytes bytes);
  /// Bytes x seconds of a window of `length` that ends now. What lies before the first reading
  /// counts with the mean of the rest; 0 if there is no reading.
  [[nodiscard]] std::uint64_t byte_seconds(Nanoseconds now, Nanoseconds length) const;
  /// Begins the next window, in which the latest reading still holds.
  void begin_anew(Nanoseconds now);

 private:
  [[nodiscard]] double sum_until(Nanoseconds now) const;

  Nanoseconds begin_ = 0, latest_ = 0;
  Bytes bytes_ = 0;  ///< 0: no reading yet.
  double sum_ = 0;   ///< Bytes x nanoseconds up to the latest reading.
};

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
  /// At most this many bytes more, which a later document has. An older geiger did not say.
  std::uint64_t unsettled = UINT64_MAX;
  std::map<RowKey, std::uint64_t> allocated;
};

[[nodiscard]] std::string encode(const Sent& sent);
[[nodiscard]] base::Outcome<Sent> decode_sent(std::string_view bytes);

/// Reads a file of encode()'s.
[[nodiscard]] base::Outcome<Sent> read_sent(const DurableDirectory& state, const std::string& name);

/// Decides what a crash left of all processes. Before anything is sent.
[[nodiscard]] base::Outcome<void> recover(const Spool& spool);

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
    bool has_resource = false;  ///< Labels also have what is said of a process, for OTLP.
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
    Nanoseconds begin = 0, end = 0;               ///< CLOCK_MONOTONIC.
    std::int64_t started = 0;                     ///< Unix seconds of the begin, on the grid.
    std::int64_t begin_ms = 0, begin_second = 0;  ///< Since 1970.
    bool is_due = false;                          ///< A step of the grid is over.
  };

  [[nodiscard]] Span span_of(const profile::Process& process, const Now& now,
                             bool is_running) const;
  void note_resource(const profile::Recording& recording);
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
  ResourceTexts resource_;     ///< As of the latest document that it ran at.
  ResidentMean resident_;      ///< Since the last document.
  std::int64_t next_due_ = 0;  ///< Unix nanoseconds: before, no picture need be made.
  bool is_given_up_ = false;
  bool is_exhausted_ = false;
  bool is_end_recorded_ = false;
  std::optional<std::uint64_t> oom_kills_;  ///< When it was last seen to run.
};

}  // namespace geiger::fleet
