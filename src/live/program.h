// The program of `geiger live -- PROGRAM`: run by a `geiger run` of its own, out of the way
// of the terminal.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "base/outcome.h"

namespace geiger::live {

class LiveProgram {
 public:
  struct Orders {
    std::vector<std::string> program;  ///< Not empty.
    std::vector<std::string> options;  ///< Of `geiger run`.
    bool keeps_output = true;          ///< Its standard output stays ours, if no terminal.
  };

  /// Starts it in a process group of its own: ^C goes to the view only. Of its standard
  /// streams those that are terminals are replaced: input is empty, output goes to a file
  /// here, geiger-NAME.PID.out. Returns when its process exists or has failed to.
  [[nodiscard]] static base::Outcome<LiveProgram> start(const Orders& orders);

  [[nodiscard]] pid_t pid() const { return program_; }
  /// The directory of its traces.
  [[nodiscard]] const std::string& directory() const { return directory_; }
  /// The file with its output; empty if it shares our standard output.
  [[nodiscard]] const std::string& output() const { return output_; }

  /// Whether it has ended, with its run sealed and named.
  [[nodiscard]] bool has_ended();
  /// Sends SIGTERM; the second call kills it.
  void end();
  /// Waits for the end; the exit code of `geiger run`.
  [[nodiscard]] int finish();

 private:
  void find_program();

  pid_t run_ = -1, program_ = -1;
  std::optional<int> status_;
  bool was_asked_ = false;
  std::string directory_, output_;
};

}  // namespace geiger::live
