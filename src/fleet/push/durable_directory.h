// A directory whose files are there whole after a crash, or not at all.
//
// It is opened once, and its files are found from there: a user who can rename a directory above it
// cannot have other files read or written.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "base/outcome.h"
#include "base/unique_fd.h"
#include "base/units.h"

namespace geiger::fleet {

class DurableDirectory {
 public:
  /// Makes it, for this user alone, with those above it. One that root uses must be root's, and
  /// not writable by others: they could have chosen what the files in it say. It may be like /tmp,
  /// as the root of a volume is: what is used in it is checked.
  [[nodiscard]] static base::Outcome<DurableDirectory> open(const std::string& path);
  /// A directory in it, which must not be like /tmp, nor a link.
  [[nodiscard]] base::Outcome<DurableDirectory> open_inside(const std::string& name) const;

  /// For messages.
  [[nodiscard]] std::string path_of(const std::string& name) const { return path_ + "/" + name; }

  /// Writes a file under a temporary name, waits for the disk, and renames it: what was there under
  /// the name is replaced. From the return on it survives a crash.
  [[nodiscard]] base::Outcome<void> write(const std::string& name, std::string_view bytes) const;
  /// Renames within a file system, and waits for the disk.
  [[nodiscard]] base::Outcome<void> move(const std::string& name, const DurableDirectory& to,
                                         const std::string& new_name) const;
  /// Fails if it is larger than `most`.
  [[nodiscard]] base::Outcome<std::string> read(const std::string& name, std::size_t most) const;
  [[nodiscard]] bool has(const std::string& name) const;
  /// Does nothing if there is no such file.
  void remove(const std::string& name) const;
  /// Sizes by name, after what a crash left of temporary files was removed.
  [[nodiscard]] std::map<std::string, Bytes> tidied() const;
  /// Holds a lock as long as the descriptor is open; that is closed if another process holds it.
  [[nodiscard]] base::Outcome<base::UniqueFd> lock(const std::string& name) const;

 private:
  DurableDirectory(std::string path, base::UniqueFd directory)
      : path_(std::move(path)), directory_(std::move(directory)) {}

  enum class Sharing : bool { kNone, kAsTmp };

  [[nodiscard]] static base::Outcome<DurableDirectory> checked(std::string path,
                                                               base::UniqueFd directory,
                                                               Sharing sharing);
  [[nodiscard]] base::Failure failure_of(const std::string& name) const;
  [[nodiscard]] base::Outcome<void> write_new(const std::string& name,
                                              std::string_view bytes) const;

  std::string path_;
  base::UniqueFd directory_;
};

}  // namespace geiger::fleet
