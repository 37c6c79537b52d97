// A trace as a supervisor or controller sees it: the page by which it controls the recording
// (trace/format.h), and marks.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/outcome.h"
#include "base/unique_fd.h"
#include "base/units.h"
#include "control/trace_front.h"
#include "trace/format.h"

namespace geiger::control {

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

 private:
  LiveTrace() = default;

  base::UniqueFd file_;
  std::string path_;
  TraceFront front_;
};

}  // namespace geiger::control
