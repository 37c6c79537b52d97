// The directory that receives the traces of one run.
#pragma once

#include <string>
#include <vector>

#include "base/outcome.h"

namespace geiger::control {

/// Path of the directory that holds a file's traces until they are packed into it.
[[nodiscard]] std::string parts_of(const std::string& file);

/// Where traces go: `geiger-PROGRAM.PID/` here, or `FILE.parts/` until they are
/// packed into FILE.
class OutputPlan {
 public:
  /// `program` is argv[0]; `file` is -o's value, empty without -o.
  OutputPlan(const std::string& program, const std::string& file);

  /// Absolute path of the run directory of the process `pid`; empty if the current directory no
  /// longer has a path.
  [[nodiscard]] std::string directory_for(int pid) const;
  /// Absolute path of -o's file; empty without -o.
  [[nodiscard]] const std::string& file() const { return file_; }
  /// The name of the result for the user: relative to the user's directory.
  [[nodiscard]] std::string shown_for(int pid) const;

 private:
  std::string base_;  // the current directory
  std::string name_;  // "geiger-PROGRAM."
  std::string file_;
  std::string shown_file_;
};

/// The part after "geiger-": the program's base name with characters that are awkward in a file
/// name replaced, at most 64 characters.
[[nodiscard]] std::string name_for_files(const std::string& program);

/// Fails if a run must not write `file`, an absolute path. A trace may be replaced if `replaces`,
/// any other file never.
base::Outcome<void> check_writable(const std::string& file, bool replaces);

/// Creates `directory` (0700). If it exists, fails unless `replaces`; then removes the traces in
/// it, and fails if it contains anything else.
base::Outcome<bool> create_run_directory(const std::string& directory, bool replaces);

/// Names of the traces in `directory`, sorted.
[[nodiscard]] std::vector<std::string> traces_in(const std::string& directory);

/// Removes traces and the directory itself, if nothing else is in it.
void remove_run_directory(const std::string& directory);

}  // namespace geiger::control
