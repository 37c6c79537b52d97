// What the servers of the module have in common: the address, the threads, the limits.
//
// Connections are accepted here (lobby.h) and not by the library, whose limits are of the time
// between two bytes, and which knows nothing of who is at the other end.
#pragma once

#include <httplib.h>

#include <atomic>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/unique_fd.h"
#include "serve/admission.h"
#include "serve/http_server.h"
#include "serve/lobby.h"
#include "serve/timed_stream.h"

namespace geiger::serve {

/// Answers with a line of text.
void answer_with(httplib::Response& response, int status, const std::string& reason);
void answer_with(httplib::Response& response, Response answer);

/// Derived classes call stop() first thing in their destructors: the threads use what they have.
class LoopbackServer : public HttpServer {
 public:
  LoopbackServer(const LoopbackServer&) = delete;
  LoopbackServer& operator=(const LoopbackServer&) = delete;

  std::optional<int> bind(int port) final;
  base::Outcome<void> start() final;
  void stop() final;

 protected:
  /// `threads`: connections that are answered at once. More wait, or have a slow one give way.
  LoopbackServer(std::size_t threads, std::size_t most_body);

  [[nodiscard]] httplib::Server& server() { return parser_; }
  [[nodiscard]] Admission& admission() { return admission_; }
  /// Whether the request is for this machine by a name that only this machine has.
  [[nodiscard]] bool is_meant(const httplib::Request& request) const;

 private:
  /// The library without its sockets.
  class Parser : public httplib::Server {
   public:
    void answer(TimedStream& stream) { answer_on(stream); }

   private:
    template <typename Stream>
    void answer_on(Stream& stream);
  };

  void work();
  void serve(Arrival arrival);

  std::size_t threads_, most_body_;
  int port_ = 0;
  base::UniqueFd listener_;
  Admission admission_;
  std::optional<Lobby> lobby_;  ///< From start() to stop().
  Parser parser_;
  std::vector<std::thread> workers_;
  std::thread acceptor_;
  std::atomic<bool> ends_ = false;
};

}  // namespace geiger::serve
