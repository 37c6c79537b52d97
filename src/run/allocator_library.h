// Allocators that are installed as libraries, which a program can be given in place of its own.
#pragma once

#include <string>
#include <vector>

#include "base/outcome.h"

namespace geiger::run {

struct AllocatorLibrary {
  std::string name;     ///< "mimalloc"; of a file that was given: its base name.
  std::string path;     ///< Absolute.
  std::string version;  ///< By its own report, "2.0.9"; empty: unknown.

  /// "mimalloc 2.0.9 (/usr/lib/x86_64-linux-gnu/libmimalloc.so.2.0)".
  [[nodiscard]] std::string text() const;
  /// The word for LD_PRELOAD. If its folder is that of $LIB, with the token: programs of
  /// another loader then find their own library, or none.
  [[nodiscard]] std::string preload_word() const;
};

/// Finds the library for `wanted`: "geiger", whose own is beside the runtime, "mimalloc",
/// "jemalloc", "tcmalloc", or the path of a file. Fails
/// if it is not installed, if it is not a shared library for this processor that defines malloc and
/// free, or if its path cannot be used in LD_PRELOAD; the reason says what to do.
[[nodiscard]] base::Outcome<AllocatorLibrary> find_allocator(const std::string& wanted);

/// The installed ones of mimalloc, jemalloc and tcmalloc.
[[nodiscard]] std::vector<AllocatorLibrary> installed_allocators();

}  // namespace geiger::run
