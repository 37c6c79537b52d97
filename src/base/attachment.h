// What a runtime reports about itself without a trace, for `geiger attach` and `geiger ctl` to read
// from outside: the exported object geiger_attachment_v1.
#pragma once

#include <cstdint>

namespace geiger::base {

enum class AttachState : std::uint32_t {
  kNever = 0,     ///< Preloaded, or loaded and not asked yet.
  kAttached = 1,  ///< Entry points are in the program's slots.
  kDetached = 2,  ///< The slots are the program's own again; may be attached anew.
  kForTools = 3,  ///< Was dormant, and samples for a tracing tool that listens.
};

struct Attachment {
  std::uint32_t state;  ///< AttachState.
  std::uint32_t slots;  ///< That lead to our entry points now.
  /// Where the injector's stack begins, guard page first; kept for the next order. 0: none.
  std::uint64_t stack;
  char version[32];      ///< Of the runtime.
  char directory[1024];  ///< Where the traces are, as the process names it.
  std::uint64_t interval;  ///< In kForTools: that it samples with.
};

/// What geiger_attach_v1 and geiger_detach_v1 return: 0, the positive errno that refused
/// the trace, or one of these.
enum AttachError : int {
  kBadSettings = -1,   ///< A line that cannot be read, or no GEIGER_DIR.
  kIsRecording = -2,   ///< Already recording, by attaching or by preloading.
  kNoAllocator = -3,   ///< No module defines malloc.
  kNothingToDo = -4,   ///< Of detaching: not attached.
  kNoLoaderLock = -5,  ///< The loader's list cannot be held still.
};

/// How often the entry points may be asked for modules that were loaded since.
inline constexpr char kAttachEntry[] = "geiger_attach_v1";
inline constexpr char kFollowEntry[] = "geiger_attach_follow_v1";
inline constexpr char kDetachEntry[] = "geiger_detach_v1";
inline constexpr char kAttachmentObject[] = "geiger_attachment_v1";

}  // namespace geiger::base
