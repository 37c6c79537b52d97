// How the runtime and those outside of its process meet: dormant programs are woken, and processes
// get traces that they may not create.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/units.h"

namespace geiger::trace {

// How a controller wakes a dormant program: two kinds of files in a directory of its user,
// $XDG_RUNTIME_DIR/geiger, else /run/user/UID/geiger, else /tmp/geiger-UID.
//
//   bell         one per directory, not removed by geiger; every dormant program maps it at its
//   start
//                and polls one word of it
//   PID.START    the rendezvous of one process, made by the first controller that calls it
//
//   controller   writes the request into the rendezvous, then rings the bell
//   program      sees that the bell rang for its process id, maps its rendezvous, and from then
//                on polls one word of that
//
// Why not a file per process from the start: most processes are short and are never called, and a
// program that has restricted its system calls (seccomp) would be killed for a late one. So it
// makes none until it is called, and the controller can check from outside whether it may call it.
//
// START is the process's start in clock ticks since boot (field 22 of /proc/PID/stat), so that a
// reused process id gives another name; it is 0 if the process has no /proc. Directories are 0700,
// files 0600, owned by the program's user or root: a user who may write there may ptrace the
// program as well.
//
// Nothing here makes a system call. Threads: the comments of the fields name their writers.

inline constexpr char kRendezvousMagic[8] = {'G', 'E', 'I', 'G', 'E', 'R', '\r', 'R'};
inline constexpr char kBellMagic[8] = {'G', 'E', 'I', 'G', 'E', 'R', '\r', 'B'};
inline constexpr char kBellName[] = "bell";
inline constexpr std::uint32_t kRendezvousVersion = 1;
/// Size of either file.
inline constexpr Bytes kRendezvousBytes = 4096;
/// Paths with their NUL, both of directories and of files.
inline constexpr std::size_t kRendezvousPath = 1024;

/// Written by controllers, read by every dormant program.
struct Bell {
  char magic[8];
  std::uint32_t version;
  std::atomic<std::uint32_t> rings;  ///< So far.
  /// Ring n, counted from 1, was for process called[n % kCalled], an id in its own pid namespace.
  static constexpr std::uint32_t kCalled = 64;
  std::atomic<std::uint32_t> called[kCalled];

  /// Controllers only: calls the process. Two at once may take each other's entry, so a controller
  /// that gets no answer rings again.
  void ring(std::uint32_t pid) {
    const std::uint32_t next = rings.load(std::memory_order_relaxed) + 1;
    called[next % kCalled].store(pid, std::memory_order_relaxed);
    rings.fetch_add(1, std::memory_order_release);
  }
  /// Whether the process was called after ring `heard`; also true if the entries have been
  /// overwritten.
  [[nodiscard]] bool has_called(std::uint32_t pid, std::uint32_t heard, std::uint32_t now) const {
    if (now - heard >= kCalled) return true;
    for (std::uint32_t ring = heard + 1; ring != now + 1; ++ring) {
      if (called[ring % kCalled].load(std::memory_order_relaxed) == pid) return true;
    }
    return false;
  }
};
static_assert(sizeof(Bell) <= kRendezvousBytes);

enum class Presence : std::uint32_t {
  kAbsent = 0,     ///< The program has not come yet.
  kDormant = 1,    ///< Samples and records nothing, waits for a request.
  kRecording = 2,  ///< Writes a trace.
};

/// A request is a number: odd asks for a recording, even for none. A number that was already served
/// has no effect, so a request is carried out once.
struct Rendezvous {
  char magic[8];
  std::uint32_t version;
  std::uint32_t pid;  ///< In the program's own pid namespace.
  std::uint64_t start_ticks;

  // Written by the runtime; valid once it has come.
  std::atomic<Presence> presence;
  std::atomic<std::uint32_t> served;  ///< The last request carried out or refused.
  std::atomic<std::int32_t> error;    ///< errno that refused it, else 0.
  std::uint32_t has_directory;        ///< 1: the program has a directory for traces (GEIGER_DIR).
  std::uint64_t own_interval;         ///< Default sampling interval, bytes.

  // Written by controllers, one at a time (they hold flock on the file).
  std::atomic<std::uint32_t> wanted;
  /// 1: use `directory` only if the program has none of its own, or may not write there.
  std::uint32_t prefers_own;
  std::atomic<std::uint64_t> wanted_interval;  ///< For the next recording; 0 = the default.
  char directory[kRendezvousPath];  ///< For its trace, absolute; empty: the program's own.
  std::uint32_t wants_bell;  ///< 1: its bell was deleted; the program makes or finds another one.
};
static_assert(sizeof(Rendezvous) <= kRendezvousBytes);

[[nodiscard]] constexpr bool wants_recording(std::uint32_t request) { return request % 2 == 1; }

/// The next request after `last` that asks for a recording, or for none.
[[nodiscard]] constexpr std::uint32_t next_request(std::uint32_t last, bool recording) {
  return wants_recording(last + 1) == recording ? last + 1 : last + 2;
}

[[nodiscard]] bool is_bell(const Bell& bell);
/// Fills in magic and version.
void begin_bell(Bell& bell);

/// Whether the page is one of this version, of this process.
[[nodiscard]] bool is_rendezvous_of(const Rendezvous& page, std::uint32_t pid,
                                    std::uint64_t start_ticks);

/// Fills in magic, version and the process that it is for.
void begin_rendezvous(Rendezvous& page, std::uint32_t pid, std::uint64_t start_ticks);

/// A directory that must exist and belong to the program's user, and the one to create in it.
struct RendezvousPlace {
  char parent[kRendezvousPath];
  char name[32];
  bool parent_is_shared;  ///< /tmp: any user may write there, so only the inner one is checked.
};
inline constexpr int kRendezvousPlaces = 3;

/// The `index`th place to look, 0 to kRendezvousPlaces - 1; false if there is none.
/// `runtime_directory` is XDG_RUNTIME_DIR of the program, null or empty if unset.
[[nodiscard]] bool rendezvous_place(int index, const char* runtime_directory, std::uint32_t uid,
                                    RendezvousPlace& place);

/// "PID.START" and a NUL; needs 32 bytes at most.
void rendezvous_name(std::uint32_t pid, std::uint64_t start_ticks, char (&name)[32]);

/// Whether rendezvous_name() gives such names.
[[nodiscard]] bool is_rendezvous_name(const char* name);

/// Field 22 of the text of /proc/PID/stat; 0 if the text is malformed. The program's name in it may
/// contain anything, also blanks and parentheses.
[[nodiscard]] std::uint64_t start_ticks_in(const char* stat, std::size_t bytes);

// How a process gets traces that it may not create itself.
//
// A process that has dropped its privileges (a worker that became www-data), or that has another
// root, can no longer create files in the directory of its run. The supervisor of a run can: if it
// runs as root, it listens on a socket of the abstract namespace, which a chroot does not hide. The
// process asks for a trace by name and receives an open descriptor, or has one removed.
//
//   process      connects, sends a BrokerRequest, and waits for the answer, not for long
//   supervisor   answers with a BrokerAnswer and, to kOpen, the descriptor (SCM_RIGHTS)
//
// GEIGER_BROKER holds the socket's name and a secret. Only the processes of the run, and those that
// may read their memory, can read it. With it a process can add traces to the directory of the run,
// nothing else.

/// Digits of GEIGER_BROKER: the socket's name, then the secret.
inline constexpr std::size_t kBrokerName = 16;
inline constexpr std::size_t kBrokerSecret = 32;
inline constexpr char kBrokerPrefix[] = "geiger-";

enum class BrokerAction : std::uint32_t { kOpen = 1, kRemove = 2 };

struct BrokerRequest {
  BrokerAction action;
  char secret[kBrokerSecret];  ///< Without a NUL.
  char name[512];              ///< The trace's, without its directory; NUL-terminated.
};

struct BrokerAnswer {
  std::int32_t error;  ///< errno if refused, else 0.
};

}  // namespace geiger::trace
