// Connections that wait for a thread, and the choice of those that must give way.
//
// Every request is read on a thread, so connections that send slowly, or nothing, could take all
// of them. They do not have to end as long as threads are free. Where one is needed, a connection
// that keeps its thread waiting gives way, of the peer that has most threads: a peer that opens any
// number of connections takes threads from itself alone.
#pragma once

#include <sys/socket.h>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string_view>

#include "base/unique_fd.h"

namespace geiger::serve {

// How long peers may take.

/// The time for this many bytes of a request or response: 30 seconds, and one for each 16 KiB.
[[nodiscard]] constexpr std::chrono::steady_clock::duration time_for(std::size_t bytes) {
  constexpr std::chrono::seconds kLeast{30};
  constexpr std::size_t kBytesPerSecond = 16384;
  return kLeast + std::chrono::seconds(bytes / kBytesPerSecond);
}

/// The answer to a peer whose time is over, or that had to give way. Senders of documents take it
/// as "try again". A peer that has no room for the answer reads nothing anyway.
inline void answer_too_slow(int socket) {
  constexpr std::string_view kAnswer =
      "HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
  send(socket, kAnswer.data(), kAnswer.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

/// The user at the other end. All connections come from this host, so addresses distinguish
/// nothing; behind a proxy all peers are the proxy's user.
using Peer = std::uint32_t;

struct Arrival {
  using Clock = std::chrono::steady_clock;
  base::UniqueFd socket;
  Peer peer = 0;
  Clock::time_point at = Clock::now();
};

class Admission {
 public:
  /// `most_waiting`: connections without a thread.
  explicit Admission(std::size_t most_waiting);
  Admission(const Admission&) = delete;
  Admission& operator=(const Admission&) = delete;

  // All functions: threads: any.

  /// Whether the system gave the descriptor that needed_descriptor() returns.
  [[nodiscard]] bool is_ready() const { return needed_.is_open(); }
  /// Closes the oldest one of the peer with most waiting connections where too many wait.
  void add(Arrival arrival);
  /// Closes one as add() does. False if none waits.
  bool drop_one();
  /// Waits for a connection: of the peer with the fewest threads, the oldest. The caller ends it
  /// with leave(). Nothing after end() once no connection waits.
  [[nodiscard]] std::optional<Arrival> next();
  /// `gave_way`: because gives_way() said so.
  void leave(Peer peer, bool gave_way);
  /// From now on every connection that keeps its thread waiting gives way.
  void end();

  /// Readable while slow connections are to give way.
  [[nodiscard]] int needed_descriptor() const { return needed_.get(); }
  [[nodiscard]] bool is_needed() const;
  /// Called for a connection that keeps its thread waiting (Waiting): whether it must end now.
  [[nodiscard]] bool gives_way(Peer peer);
  /// Waits until a connection has ended or the time is over. False if none keeps its thread
  /// waiting, so that none will give way.
  bool wait_for_leave(std::chrono::milliseconds longest);

  /// Marks a connection that keeps its thread waiting.
  class Waiting {
   public:
    explicit Waiting(Admission& admission);
    ~Waiting();
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;

   private:
    Admission& admission_;
  };

  /// Has a slow connection give way for something other than a thread.
  class Need {
   public:
    explicit Need(Admission& admission);
    ~Need();
    Need(const Need&) = delete;
    Need& operator=(const Need&) = delete;

   private:
    Admission& admission_;
  };

 private:
  using Counts = std::map<Peer, std::size_t>;

  [[nodiscard]] bool is_short() const;
  void update();
  void drop_oldest();
  static void count_down(Counts& counts, Peer peer);

  const std::size_t most_waiting_;
  const base::UniqueFd needed_;  ///< An event: readable if and only if is_short().
  mutable std::mutex mutex_;
  std::condition_variable added_, left_;
  std::map<Peer, std::deque<Arrival>> arrivals_;  ///< No deque is empty.
  std::size_t waiting_ = 0;                       ///< In arrivals_.
  Counts served_;                                 ///< Connections on threads.
  std::size_t slow_ = 0;                          ///< Of them those of Waiting.
  std::size_t idle_ = 0, needs_ = 0;              ///< Threads in next(); objects of Need.
  std::size_t leaving_ = 0;                       ///< Were asked to give way and have not left.
  bool ends_ = false, is_signalled_ = false;
};

}  // namespace geiger::serve
