// What the servers of the module have in common: the address, the threads, the limits.
#pragma once

#include <httplib.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "serve/http_server.h"
#include "serve/workers.h"

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
  /// `threads`: connections that are answered at once; a slow one holds one of them. More wait.
  LoopbackServer(std::size_t threads, std::size_t most_body);

  [[nodiscard]] httplib::Server& server() { return server_; }
  /// Whether the request is for this machine by a name that only this machine has.
  [[nodiscard]] bool is_meant(const httplib::Request& request) const;

 private:
  std::size_t threads_;
  int port_ = 0;
  std::unique_ptr<Workers> workers_;  ///< Until the server takes them.
  httplib::Server server_;
  std::thread listener_;
  std::atomic<bool> has_ended_ = false;  ///< The listener; maybe because it could not begin.
};

}  // namespace geiger::serve
