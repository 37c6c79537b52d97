// A trace as a supervisor or controller sees it: the page by which it controls the recording,
// marks, and the count of its records.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "analysis/ingest/decode/image.h"
#include "base/outcome.h"
#include "base/unique_fd.h"
#include "base/units.h"
#include "trace/format.h"

namespace geiger::control {

// The first pages of a file that another process may truncate at any moment, mapped for reading and
// writing. A page that is no longer in the file would raise SIGBUS; here it reads as zeros from
// then on, and what is written there is lost: a process can spoil its own trace, but not end the
// geiger that watches it and others.

/// Threads: any, one at a time each. Fork: a child shares the pages. Signals: the first one
/// installs a handler of SIGBUS, which leaves all other faults to the default action.
class SharedPages {
 public:
  /// Nothing if the kernel refuses.
  [[nodiscard]] static std::optional<SharedPages> map(int fd, Bytes size);

  SharedPages() = default;
  SharedPages(SharedPages&& other) noexcept : place_(std::exchange(other.place_, nullptr)) {}
  SharedPages& operator=(SharedPages&& other) noexcept {
    std::swap(place_, other.place_);
    return *this;
  }
  SharedPages(const SharedPages&) = delete;
  SharedPages& operator=(const SharedPages&) = delete;
  ~SharedPages();

  /// Null for an empty object.
  [[nodiscard]] char* begin() const;

 private:
  struct Place;
  struct Places;

  Place* place_ = nullptr;
};

// The first pages of a trace, shared with the process that writes it.

/// The size of a regular file that has room for a header and a control page; nothing for others.
[[nodiscard]] std::optional<Bytes> size_of_trace(int fd);

/// The header and the control page in one mapping, as pages may be larger than either. All zeros
/// where the file was cut below trace::kRecordsOffset meanwhile: see size_of_trace().
class TraceFront {
 public:
  /// Maps those of an open file for reading and writing. Nothing if the kernel refuses.
  [[nodiscard]] static std::optional<TraceFront> map(int fd);

  [[nodiscard]] bool is_mapped() const { return pages_.begin() != nullptr; }
  [[nodiscard]] const trace::FileHeader& header() const {
    return *reinterpret_cast<const trace::FileHeader*>(pages_.begin());
  }
  /// The header, of which supervisors may write the tail.
  [[nodiscard]] trace::FileHeader& header() {
    return *reinterpret_cast<trace::FileHeader*>(pages_.begin());
  }
  [[nodiscard]] trace::ControlPage& control() const {
    return *reinterpret_cast<trace::ControlPage*>(pages_.begin() + trace::kControlOffset);
  }

 private:
  SharedPages pages_;
};

// A trace as a supervisor or controller sees it: the page by which it controls the recording
// (trace/format.h), and marks.

/// Longest name of a mark that is set from outside, bytes.
inline constexpr std::size_t kMostMarkBytes = 108;

/// Opens a trace for reading and writing by `open_with`, which has flags as its argument, whether
/// the trace's mode is guarded or not.
[[nodiscard]] base::UniqueFd open_guarded(const std::function<base::UniqueFd(int)>& open_with);

/// Opens a trace in a directory to change its control page.
[[nodiscard]] base::UniqueFd open_to_control(int directory, const std::string& name);
/// By its path, no part of which other users can rename.
[[nodiscard]] base::UniqueFd open_to_control(const std::string& path);

/// A trace that a process writes.
class LiveTrace {
 public:
  /// Takes over the open file of `path`. Fails on anything that is not a trace of this format.
  [[nodiscard]] static base::Outcome<LiveTrace> open(base::UniqueFd file, std::string path);

  /// The trace for another owner.
  [[nodiscard]] base::Outcome<LiveTrace> again() const;

  [[nodiscard]] const trace::FileHeader& header() const { return front_.header(); }
  [[nodiscard]] trace::ControlPage& control() const { return front_.control(); }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] int fd() const { return file_.get(); }
  /// Whether its process may still add to it.
  [[nodiscard]] bool is_open() const;
  /// Bytes of records and header so far.
  [[nodiscard]] Bytes size() const;

  /// Writes a mark of `time`, its name cut to kMostMarkBytes, next to the process's own records,
  /// even if the process allocates nothing. False: the recording has ended, or there is no room.
  [[nodiscard]] bool write_mark(Nanoseconds time, std::string_view name);
  /// Writes an observation of the process (ingest/observation_chunk.h) likewise. False also if
  /// less than half of the trace would be left for its process.
  [[nodiscard]] bool write_observation(Nanoseconds time, std::string_view payload);

 private:
  LiveTrace() = default;
  [[nodiscard]] bool append(std::string_view records);

  base::UniqueFd file_;
  std::string path_;
  TraceFront front_;
};

// Counts the records of a trace while it grows.

/// Records so far.
struct RecordCounts {
  std::uint64_t samples = 0;
  std::uint64_t frees = 0;
  std::uint64_t carried = 0;  ///< Samples of earlier segments, still live.
  std::uint64_t stacks = 0;
  std::uint64_t mappings = 0;
  std::uint64_t epochs = 0;
  Bytes interval = 0;  ///< Of the last epoch, in force now; 0: none yet.

  /// Samples not freed, according to the records.
  [[nodiscard]] std::uint64_t live() const {
    return samples + carried - std::min(samples + carried, frees);
  }
};

/// Follows the first image of a trace.
class TraceTally : public trace::RecordSink {
 public:
  using RecordSink::on;

  /// `fd` belongs to the caller and must stay open as long as this exists.
  explicit TraceTally(int fd) : image_(fd) {}

  /// Reads what was added. False: it cannot be read as a trace.
  bool update(Nanoseconds now);
  [[nodiscard]] const RecordCounts& counts() const { return counts_; }

  void on(const trace::Record&, const trace::SampleRecord&) { ++counts_.samples; }
  void on(const trace::Record&, const trace::FreeRecord&) { ++counts_.frees; }
  void on(const trace::Record&, const trace::CarriedRecord&) { ++counts_.carried; }
  void on(const trace::Record&, const trace::StackRecord&) { ++counts_.stacks; }
  void on(const trace::Record&, const trace::MappingRecord&) { ++counts_.mappings; }
  void on(const trace::Record&, const trace::EpochRecord& epoch) {
    ++counts_.epochs;
    counts_.interval = epoch.interval;
  }

 private:
  ingest::GrowingImage image_;
  RecordCounts counts_;
};

}  // namespace geiger::control
