// The core file of a process: its memory at one instant, its threads, and which files it had
// mapped.
//
// Written by the kernel or by gdb's gcore. What a core file leaves out is read from the mapped
// file, where that is unchanged; what neither has is never taken for zeros.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "analysis/holders/memory.h"
#include "analysis/holders/roots.h"
#include "analysis/observe/proc_files.h"
#include "base/outcome.h"
#include "base/unique_fd.h"
#include "base/units.h"

namespace geiger::holders {

class CoreFile {
 public:
  /// Fails, in one line, if the file is not a core file, is cut off, or is of a 32-bit process or
  /// of a processor whose registers are not known.
  [[nodiscard]] static base::Outcome<CoreFile> open(const std::string& path);

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] pid_t pid() const { return pid_; }  ///< In the namespace of what wrote it.
  [[nodiscard]] const std::string& program() const {
    return program_;
  }  ///< Its name, cut by the kernel.
  [[nodiscard]] const std::string& executable() const { return executable_; }
  [[nodiscard]] Nanoseconds written() const { return written_; }  ///< CLOCK_REALTIME.
  [[nodiscard]] Bytes page_bytes() const { return page_bytes_; }
  /// Those of which something may be read, in order of addresses. None is marked as shared.
  [[nodiscard]] const std::vector<observe::Mapping>& mappings() const { return mappings_; }
  [[nodiscard]] const std::vector<Thread>& threads() const { return threads_; }

  /// The file of a mapping; closed if it is not known to be what the process had mapped.
  [[nodiscard]] base::UniqueFd open_file(const observe::Mapping& mapping) const;
  /// Must not outlive the core file.
  [[nodiscard]] std::unique_ptr<Memory> memory() const;

 private:
  friend class CoreReader;

  /// What the core file has of a mapping.
  struct Segment {
    Span span;
    std::uint64_t offset = 0;
  };

  std::string path_, program_, executable_;
  base::UniqueFd file_;
  pid_t pid_ = 0;
  Nanoseconds written_ = 0;
  Bytes page_bytes_ = 4096;
  std::vector<observe::Mapping> mappings_;
  std::vector<Segment> segments_;  ///< In order of addresses.
  std::vector<Thread> threads_;
};

}  // namespace geiger::holders
