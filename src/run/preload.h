// The path of the runtime library, in a form that LD_PRELOAD can hold.
#pragma once

#include <filesystem>
#include <string>

#include "base/outcome.h"

namespace geiger::run {

/// The word to put into LD_PRELOAD. It contains the loader's token `$LIB`, which
/// 64-bit and 32-bit glibc read differently: the first finds the runtime, the
/// second an empty library. musl knows no tokens: for it there is a link of this name.
class PreloadPath {
 public:
  /// Finds the libraries beside this executable (../lib/geiger). LD_PRELOAD is
  /// split at spaces and colons: where the path has one, a private directory
  /// with a symbolic link stands in for it.
  [[nodiscard]] static base::Outcome<PreloadPath> locate();

  /// The file itself, for callers that load it without LD_PRELOAD.
  [[nodiscard]] static base::Outcome<std::string> library();

  /// Where geiger's own allocator is, or would be.
  [[nodiscard]] static std::string allocator();

  /// Adds the library that sends events to LTTng. False: geiger was built without it.
  [[nodiscard]] bool add_lttng();

  PreloadPath(PreloadPath&& other) noexcept;
  PreloadPath(const PreloadPath&) = delete;
  PreloadPath& operator=(const PreloadPath&) = delete;
  PreloadPath& operator=(PreloadPath&&) = delete;
  /// Removes the stand-in.
  ~PreloadPath();

  [[nodiscard]] const std::string& word() const { return word_; }
  /// Leaves the stand-in: processes that may still start others need it.
  void keep() { stand_in_.clear(); }

 private:
  PreloadPath(const std::string& root, std::string stand_in);
  std::string root_;  // what the loader finds the libraries under
  std::string word_;
  std::string stand_in_;  // directory to remove, or empty
};

}  // namespace geiger::run
