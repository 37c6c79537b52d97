#include "serve/timed_stream.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "serve/admission.h"

namespace geiger::serve {
namespace {

/// Of a request's line and headers; the library bounds only each of them.
constexpr std::size_t kMostHeaders = 65536;

// A connection that is older than kYoung gives way once it has kept its thread waiting for
// kPatience: a thousand of them on 64 threads have given way within a second. Senders that come in
// numbers just queue, as what they send is there when they get a thread.
constexpr std::chrono::milliseconds kYoung{250}, kPatience{20};

}  // namespace

TimedStream::TimedStream(Arrival& arrival, Admission& admission)
    : arrival_(arrival), admission_(admission), began_(arrival.at) {}

bool TimedStream::is_readable() const { return !has_given_up_; }

ssize_t TimedStream::read(char* into, std::size_t size) {
  turn(Direction::kRead);
  if (from_ == to_) {
    if (!has_headers_ && passed_ >= kMostHeaders) return -1;
    if (!fill()) return has_given_up_ ? -1 : 0;
  }
  const std::size_t count = std::min(size, to_ - from_);
  std::memcpy(into, buffer_.data() + from_, count);
  from_ += count;
  return static_cast<ssize_t>(count);
}

/// False at the end, and where it gave up.
bool TimedStream::fill() {
  while (!has_given_up_) {
    const ssize_t got = recv(socket(), buffer_.data(), buffer_.size(), 0);
    if (got > 0) {
      from_ = 0;
      to_ = static_cast<std::size_t>(got);
      passed_ += to_;
      return true;
    }
    if (got == 0 || (errno != EAGAIN && errno != EINTR)) return false;
    if (errno == EAGAIN && !wait(POLLIN)) return false;
  }
  return false;
}

ssize_t TimedStream::write(const char* bytes, std::size_t size) {
  turn(Direction::kWrite);
  while (!has_given_up_) {
    const ssize_t sent = send(socket(), bytes, size, MSG_NOSIGNAL);
    if (sent >= 0) {
      has_written_ = true;
      passed_ += static_cast<std::size_t>(sent);
      return sent;
    }
    if (errno != EAGAIN && errno != EINTR) return -1;
    if (errno == EAGAIN && !wait(POLLOUT)) return -1;
  }
  return -1;
}

/// The time that an answer takes to make is not the peer's.
void TimedStream::turn(Direction direction) {
  if (direction == direction_) return;
  direction_ = direction;
  began_ = Clock::now();
  passed_ = 0;
}

/// For the socket. False if the peer has had its time.
bool TimedStream::wait(short events) {
  const Admission::Waiting waiting(admission_);
  const Clock::time_point began = Clock::now();
  pollfd sources[] = {{socket(), events, 0}, {admission_.needed_descriptor(), POLLIN, 0}};
  while (true) {
    const Clock::time_point now = Clock::now();
    if (must_end(now, waited_ + (now - began))) {
      give_up();
      return false;
    }
    auto left = began_ + time_for(passed_) - now;
    // While it is not, or not yet, its turn to give way only the socket is of interest.
    const bool is_needed = admission_.is_needed();
    if (is_needed) left = std::min<Clock::duration>(left, kPatience);
    const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(left).count();
    poll(sources, is_needed ? 1 : 2, static_cast<int>(milliseconds));
    if (sources[0].revents == 0) continue;
    waited_ += Clock::now() - began;
    return true;
  }
}

bool TimedStream::must_end(Clock::time_point now, Clock::duration waited) {
  if (now - began_ >= time_for(passed_)) return true;
  if (now - arrival_.at < kYoung || waited < kPatience) return false;
  gave_way_ = admission_.gives_way(arrival_.peer);
  return gave_way_;
}

void TimedStream::give_up() {
  has_given_up_ = true;
  if (!has_written_) answer_too_slow(socket());
}

}  // namespace geiger::serve
