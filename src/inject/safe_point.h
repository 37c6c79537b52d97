// Whether a stopped thread may be borrowed to load a library: it must not be inside the allocator,
// the loader, or any part of libc that may hold one of their locks.
//
//   frames of the allocator, the loader, the runtime   never, except the runtime's frame in which
//                             a recorded program's thread starts
//   frames of libc            what the program called must be on the list of functions that
//                             only wait or pass on a system call; below main, or the start
//                             of a thread, the outermost frames are libc's anyway
//   anything else             yes
//   a walk that does not reach the stack's end          never: the callers are unknown
//
// So a thread that handles a signal that arrived inside malloc is not safe, as its walk continues
// below the handler.
#pragma once

#include <sys/types.h>
#include <sys/user.h>

#include <memory>
#include <string_view>
#include <vector>

#include "inject/remote_modules.h"

namespace geiger::inject {

enum class Safety { kSafe, kBusy, kUnknown };

/// What a verdict needs of one frame.
struct FrameFacts {
  ModuleKind kind = ModuleKind::kOrdinary;
  bool has_name = false;    ///< An exported function of libc.
  bool only_waits = false;  ///< On the list.
};

/// The verdict on a whole walk.
[[nodiscard]] Safety judge(const std::vector<FrameFacts>& frames);

/// Whether a function of libc only waits or passes on a system call.
[[nodiscard]] bool only_waits(std::string_view function);

/// Reads what verdicts on threads of one process need, before any thread is stopped; modules loaded
/// later are unknown.
class SafePoints {
 public:
  SafePoints(pid_t pid, const std::vector<RemoteModule>& modules);
  ~SafePoints();
  SafePoints(const SafePoints&) = delete;
  SafePoints& operator=(const SafePoints&) = delete;

  /// `registers` of the stopped thread `tid`.
  [[nodiscard]] Safety check(pid_t tid, const user_regs_struct& registers) const;

 private:
  struct Walker;
  [[nodiscard]] FrameFacts facts_of(Address pc) const;

  struct Named {
    Address begin, end;
    bool only_waits;
  };
  const std::vector<RemoteModule>& modules_;
  std::vector<Named> named_;
  std::unique_ptr<Walker> walker_;
};

}  // namespace geiger::inject
