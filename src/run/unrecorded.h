// Processes of a run that geiger's library is not in: started with another environment, static or
// privileged.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>
#include <string>
#include <vector>

namespace geiger::run {

/// Scans a program and its descendants at intervals, in /proc only. What starts and ends
/// between two scans is not seen. A process counts if two scans see it: the first may have come
/// before its libraries. Ends after kMost processes.
class UnrecordedWatch {
 public:
  /// `directory`: the run directory.
  UnrecordedWatch(pid_t program, std::string directory);

  /// Scans if it is time. Returns how long to wait for the next scan.
  std::chrono::nanoseconds round();

  /// A name of an empty trace for each (ingest::name_of_absent).
  [[nodiscard]] const std::vector<std::string>& found() const { return found_; }

  static constexpr std::size_t kMost = 8;

 private:
  using Clock = std::chrono::steady_clock;
  /// By process: the file that it runs.
  using Images = std::map<pid_t, std::string>;

  void look();

  pid_t program_;
  std::string directory_;
  Images recorded_, suspects_, known_;
  std::vector<std::string> found_;
  std::chrono::nanoseconds rest_;
  Clock::time_point next_;
};

}  // namespace geiger::run
