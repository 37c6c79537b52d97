// Programs that tests build and take apart with the machine's own tools.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "analysis/profile/recording/recording.h"
#include "base/units.h"

namespace geiger::symbolize {

/// A directory that goes away with this object.
class ScratchDirectory {
 public:
  ScratchDirectory();
  ~ScratchDirectory();
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;

  [[nodiscard]] std::string path(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

/// Whether the shell command succeeded.
[[nodiscard]] bool run(const std::string& command);
/// Runs a shell command; returns what it printed.
[[nodiscard]] std::string output_of(const std::string& command);

void write_file(const std::string& path, const std::string& bytes);
[[nodiscard]] std::string read_file(const std::string& path);

/// Two units with namespaces, templates, lambdas, local classes, constructors
/// and several levels of inlining, compiled with `flags` to `path`.
[[nodiscard]] bool build_program(const std::string& path, const std::string& flags);

/// Lower-case hex, empty if there is none.
[[nodiscard]] std::string build_id_of(const std::string& path);

/// ELF vaddrs inside functions of the symbol table, at most `count`, evenly
/// spread, ascending.
[[nodiscard]] std::vector<Address> code_addresses(const std::string& path, std::size_t count);

/// A recording with one module and a location per return address (address + 1).
[[nodiscard]] profile::Recording recording_of(const std::string& path,
                                              const std::vector<Address>& addresses);

/// The frames at `address`, as given to recording_of().
using Frames = std::vector<profile::Frame>;
[[nodiscard]] std::map<Address, Frames> frames_by_address(const profile::Recording& recording);

/// The frames at `addresses` as binutils' addr2line gives them.
[[nodiscard]] std::map<Address, Frames> addr2line(const std::string& path,
                                                  const std::vector<Address>& addresses);

}  // namespace geiger::symbolize
