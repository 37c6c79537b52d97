// Where connections are until a thread has something to do for them.
//
// A request gets a thread once it is there as a whole, or 16 KiB of it: connections that send
// nothing, or a byte now and then, cost a descriptor each and hinder none. Nothing is read here, as
// the library reads from the socket itself: what has come is looked at in the kernel's buffer.
#pragma once

#include <sys/epoll.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>

#include "base/unique_fd.h"
#include "serve/admission.h"

namespace geiger::serve {

// Who is at the other end of a connection on the loopback interface.

class Peers {
 public:
  Peers();
  /// The user who owns the socket. All connections of unknown users are one peer.
  [[nodiscard]] Peer of(int socket);

 private:
  base::UniqueFd diagnosis_;  ///< Asks the kernel about sockets; closed if it cannot be asked.
};

/// Bytes of a request that are to be there before it gets a thread; nothing while the end of its
/// headers is not among those that have come. Bodies that are not going to be read, because their
/// length is not known or above `most_body`, are not waited for.
[[nodiscard]] std::optional<std::size_t> bytes_before_thread(std::string_view begun,
                                                             std::size_t most_body);

class Lobby {
 public:
  /// Of connections to a listener that does not block.
  Lobby(int listener, std::size_t most_body, Admission& admission);
  Lobby(const Lobby&) = delete;
  Lobby& operator=(const Lobby&) = delete;

  /// Whether the system gave the descriptors that it needs.
  [[nodiscard]] bool is_ready() const { return events_.is_open(); }
  /// Passes connections on until `ends` and the listener is shut down.
  void run(const std::atomic<bool>& ends);

 private:
  struct Guest {
    Arrival arrival;
    std::optional<std::size_t> needed;  ///< bytes_before_thread(), once it is known.
  };
  using Guests = std::map<std::uint64_t, Guest>;

  void heed(const epoll_event& event);
  void accept_all();
  void take_in(base::UniqueFd socket);
  void make_room();
  void look_at(std::uint64_t id, bool has_ended);
  [[nodiscard]] bool needs_thread(Guest& guest) const;
  void end_late();
  Guests::iterator turn_away(Guests::iterator guest);
  Guests::iterator remove(Guests::iterator guest);

  int listener_;
  std::size_t most_body_;
  Admission& admission_;
  Peers peers_;
  base::UniqueFd events_;
  Guests guests_;                        ///< The oldest first.
  std::map<Peer, std::size_t> of_peer_;  ///< Guests.
  std::uint64_t latest_ = 0;             ///< The listener's number is 0.
};

}  // namespace geiger::serve
