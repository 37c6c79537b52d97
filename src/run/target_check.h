// What geiger can see of a program before it runs.
#pragma once

#include <string>
#include <vector>

namespace geiger::run {

/// Why a program's allocations may stay unseen.
enum class Obstacle {
  kNone,
  kNotFound,       ///< No such file, here or on PATH: it cannot run at all.
  kNotExecutable,  ///< Found, but execution is not permitted.
  kStatic,         ///< Statically linked, without the runtime: nothing is preloaded.
  kPrivileged,     ///< setuid, setgid or capabilities: LD_PRELOAD is ignored.
  kOwnMalloc,      ///< The executable defines malloc itself.
  kSanitizer,      ///< Built with a sanitizer that replaces malloc.
  k32Bit,          ///< A 32-bit program.
  kForeign,        ///< Built for another kind of processor.
};

/// The verdict on one program.
struct TargetCheck {
  Obstacle obstacle = Obstacle::kNone;
  std::string path;      ///< What will be executed, found as a shell would.
  std::string examined;  ///< The file that decided: `path`, or a script's interpreter.
  bool is_go = false;    ///< Built by Go.
  std::string detail;    ///< Which sanitizer, which bit; may be empty.

  /// Whether it cannot be run: the shell's 127 or 126.
  [[nodiscard]] bool is_fatal() const;
  /// The runtime must not be preloaded into it.
  [[nodiscard]] bool must_stay_bare() const { return obstacle == Obstacle::kSanitizer; }
  /// One sentence for the user without "geiger: "; empty for kNone.
  [[nodiscard]] std::string sentence() const;
  /// What the user can do about it, in lines; none where there is nothing to do.
  [[nodiscard]] std::vector<std::string> advice() const;
};

/// The path of `program`, found as a shell would, if it is a binary; else empty.
[[nodiscard]] std::string binary_of(const std::string& program);

/// Looks at `program` (argv[0] of the command) and, for scripts, one level of
/// interpreter (through `/usr/bin/env`). Reads files only; never executes.
[[nodiscard]] TargetCheck check_target(const std::string& program);

}  // namespace geiger::run
