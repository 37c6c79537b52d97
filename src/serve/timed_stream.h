// A connection as the library reads and writes it, within bounds that do not depend on how the
// peer divides its bytes.
//
// A request, from the connection on, and a response may each take time_for() the bytes that have
// passed. Where others wait for a thread, the connection gives way much earlier (admission.h).
#pragma once

#include <httplib.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <string>

#include "serve/admission.h"

namespace geiger::serve {

class TimedStream final : public httplib::Stream {
 public:
  using Clock = Arrival::Clock;

  TimedStream(Arrival& arrival, Admission& admission);

  /// The line and the headers of the request have been read; they are bounded, and the body is by
  /// the library.
  void end_headers() { has_headers_ = true; }
  [[nodiscard]] bool gave_way() const { return gave_way_; }

  // Later versions of the library have others of these functions.
  // NOLINTBEGIN(modernize-use-override)
  virtual bool is_readable() const;
  virtual bool is_writable() const { return !has_given_up_; }
  virtual bool wait_readable() const { return is_readable(); }
  virtual bool wait_writable() const { return is_writable(); }
  virtual time_t duration() const { return 0; }
  virtual ssize_t read(char* into, std::size_t size);
  virtual ssize_t write(const char* bytes, std::size_t size);
  virtual void get_remote_ip_and_port(std::string& /*ip*/, int& /*port*/) const {}
  virtual void get_local_ip_and_port(std::string& /*ip*/, int& /*port*/) const {}
  virtual socket_t socket() const { return arrival_.socket.get(); }
  // NOLINTEND(modernize-use-override)

 private:
  enum class Direction : bool { kRead, kWrite };

  void turn(Direction direction);
  [[nodiscard]] bool fill();
  [[nodiscard]] bool wait(short events);
  [[nodiscard]] bool must_end(Clock::time_point now, Clock::duration waited);
  void give_up();

  Arrival& arrival_;
  Admission& admission_;
  Direction direction_ = Direction::kRead;
  Clock::time_point began_;   ///< Of the request, or the response.
  std::size_t passed_ = 0;    ///< Bytes of it.
  Clock::duration waited_{};  ///< For the peer, in all.
  bool has_headers_ = false, has_written_ = false, has_given_up_ = false, gave_way_ = false;
  std::array<char, 16384> buffer_{};
  std::size_t from_ = 0, to_ = 0;  ///< Of the buffer: read and not yet handed on.
};

}  // namespace geiger::serve
