// How a process gets traces that it may not make itself.
//
// A process that has given up its rights (a worker that became www-data), or that has another root,
// cannot make files in the directory of its run any more. The supervisor of a run can: if it runs
// as root, it listens on a socket of the abstract namespace, which no directory hides. The process
// asks for a trace by its name and receives an open descriptor, or has one removed.
//
//   process      connects, sends a BrokerRequest, and waits for the answer, not for long
//   supervisor   answers with a BrokerAnswer and, to kOpen, the descriptor (SCM_RIGHTS)
//
// The name of the socket and a secret are in GEIGER_BROKER, which only processes of the run and who
// may read their memory know. Whoever knows it can add traces to the directory of the run, nothing
// else.
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
  char name[512];              ///< Of the trace, without its directory; NUL-terminated.
};

struct BrokerAnswer {
  std::int32_t error;  ///< errno that refused it, else 0.
};

}  // namespace geiger::trace
