// How long peers may take.
#pragma once

#include <sys/socket.h>

#include <chrono>
#include <cstddef>
#include <string_view>

namespace geiger::serve {

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

}  // namespace geiger::serve
