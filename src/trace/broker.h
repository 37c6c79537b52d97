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
#pragma once

#include <cstddef>
#include <cstdint>

namespace geiger::trace {

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
