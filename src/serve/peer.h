// Who is at the other end of a connection on the loopback interface.
#pragma once

#include "base/unique_fd.h"
#include "serve/admission.h"

namespace geiger::serve {

class Peers {
 public:
  Peers();
  /// The user who owns the socket. All connections of unknown users are one peer.
  [[nodiscard]] Peer of(int socket);

 private:
  base::UniqueFd diagnosis_;  ///< Asks the kernel about sockets; closed if it cannot be asked.
};

}  // namespace geiger::serve
