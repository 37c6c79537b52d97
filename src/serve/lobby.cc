#include "serve/lobby.h"

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>

#include "base/text.h"
#include "serve/admission.h"

namespace geiger::serve {

namespace {

constexpr Peer kUnknown = 0xffff'ffff;  // No user has this id.

/// A question about one socket.
struct Question {
  nlmsghdr header;
  inet_diag_req_v2 request;
};

/// As the peer sees it: its own end is the source.
std::optional<Question> question_about(int socket) {
  sockaddr_in peer{}, own{};
  socklen_t peer_size = sizeof peer, own_size = sizeof own;
  const bool is_known = getpeername(socket, reinterpret_cast<sockaddr*>(&peer), &peer_size) == 0 &&
                        getsockname(socket, reinterpret_cast<sockaddr*>(&own), &own_size) == 0;
  if (!is_known || peer.sin_family != AF_INET) return std::nullopt;
  Question question{};
  question.header.nlmsg_len = sizeof question;
  question.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  question.header.nlmsg_flags = NLM_F_REQUEST;
  question.request.sdiag_family = AF_INET;
  question.request.sdiag_protocol = IPPROTO_TCP;
  question.request.idiag_states = ~0U;
  inet_diag_sockid& id = question.request.id;
  id.idiag_sport = peer.sin_port;
  id.idiag_dport = own.sin_port;
  id.idiag_src[0] = peer.sin_addr.s_addr;
  id.idiag_dst[0] = own.sin_addr.s_addr;
  id.idiag_cookie[0] = id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
  return question;
}

}  // namespace

Peers::Peers() : diagnosis_(::socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG)) {}

Peer Peers::of(int socket) {
  const auto question = question_about(socket);
  if (!diagnosis_.is_open() || !question) return kUnknown;
  if (send(diagnosis_.get(), &*question, sizeof *question, 0) != sizeof *question) return kUnknown;
  // The kernel answers before send() returns.
  alignas(nlmsghdr) std::array<char, 1024> answer{};
  const ssize_t size = recv(diagnosis_.get(), answer.data(), answer.size(), MSG_DONTWAIT);
  constexpr auto kWhole = static_cast<ssize_t>(NLMSG_LENGTH(sizeof(inet_diag_msg)));
  nlmsghdr header{};
  if (size < kWhole) return kUnknown;
  std::memcpy(&header, answer.data(), sizeof header);
  if (header.nlmsg_type != SOCK_DIAG_BY_FAMILY) return kUnknown;
  inet_diag_msg found{};
  std::memcpy(&found, answer.data() + NLMSG_HDRLEN, sizeof found);
  return found.idiag_uid;
}

namespace {

constexpr std::size_t kEnough = 16384;
/// With those that have or await a thread they stay below 1024, the number of descriptors that the
/// library can use, and that systems grant by default.
constexpr std::size_t kMostGuests = 300;
constexpr std::size_t kAtOnce = 64;
/// Until it is tried again where the system has no descriptor for a connection.
constexpr std::chrono::milliseconds kPause{10};
constexpr std::uint64_t kListener = 0;

/// The value of a header, of those given in lower case with a new line before each.
std::optional<std::string_view> value_of(std::string_view headers, std::string_view name) {
  const std::size_t at = headers.find("\n" + std::string(name) + ":");
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view value = headers.substr(at + name.size() + 2);
  value = value.substr(0, value.find_first_of("\r\n"));
  value.remove_prefix(std::min(value.find_first_not_of(' '), value.size()));
  return value;
}

bool is_out_of_descriptors(int error) {
  return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

}  // namespace

std::optional<std::size_t> bytes_before_thread(std::string_view begun, std::size_t most_body) {
  constexpr std::string_view kEnd = "\r\n\r\n";
  const std::size_t end = begun.find(kEnd);
  if (end == std::string_view::npos) return std::nullopt;
  const std::size_t headers = end + kEnd.size();
  std::string lower(begun.substr(0, headers));
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  // Who expects an answer sends no body before it came.
  if (value_of(lower, "expect")) return headers;
  const auto value = value_of(lower, "content-length");
  const auto length = value ? base::number_in<std::size_t>(*value) : std::nullopt;
  if (!length || *length > most_body) return headers;
  return std::min(headers + std::min(*length, kEnough), kEnough);
}

Lobby::Lobby(int listener, std::size_t most_body, Admission& admission)
    : listener_(listener),
      most_body_(most_body),
      admission_(admission),
      events_(epoll_create1(EPOLL_CLOEXEC)) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = kListener;
  if (epoll_ctl(events_.get(), EPOLL_CTL_ADD, listener_, &event) != 0) events_.reset();
}

void Lobby::run(const std::atomic<bool>& ends) {
  constexpr int kSweep = 1000;  // Milliseconds.
  std::array<epoll_event, kAtOnce> events{};
  while (!ends) {
    const int count = epoll_wait(events_.get(), events.data(), static_cast<int>(events.size()),
                                 guests_.empty() ? -1 : kSweep);
    const auto came = static_cast<std::size_t>(std::max(count, 0));
    try {
      for (const epoll_event& event : std::span(events).first(came)) heed(event);
    } catch (const std::bad_alloc&) {
      // Peers come again, as after any connection that was closed.
    }
    end_late();
  }
}

void Lobby::heed(const epoll_event& event) {
  if (event.data.u64 == kListener) return accept_all();
  look_at(event.data.u64, (event.events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0);
}

void Lobby::accept_all() {
  for (std::size_t i = 0; i < kAtOnce; ++i) {
    base::UniqueFd socket(accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (socket.is_open()) {
      take_in(std::move(socket));
    } else if (is_out_of_descriptors(errno)) {
      return make_room();
    } else if (errno != ECONNABORTED && errno != EINTR) {
      return;
    }
  }
}

void Lobby::take_in(base::UniqueFd socket) {
  epoll_event event{};
  event.events = EPOLLIN | EPOLLRDHUP | EPOLLET;
  event.data.u64 = ++latest_;
  if (epoll_ctl(events_.get(), EPOLL_CTL_ADD, socket.get(), &event) != 0) return;
  const Peer peer = peers_.of(socket.get());
  guests_.emplace(latest_, Guest{{std::move(socket), peer}, {}});
  ++of_peer_[peer];
  if (guests_.size() > kMostGuests) make_room();
}

/// Turns away the oldest guest of the peer with most; else one that has sent its request.
void Lobby::make_room() {
  const auto most =
      std::ranges::max_element(of_peer_, {}, [](const auto& each) { return each.second; });
  if (most == of_peer_.end()) {
    if (!admission_.drop_one()) std::this_thread::sleep_for(kPause);
    return;
  }
  turn_away(std::ranges::find_if(
      guests_, [&](const auto& each) { return each.second.arrival.peer == most->first; }));
}

void Lobby::look_at(std::uint64_t id, bool has_ended) {
  const auto guest = guests_.find(id);
  if (guest == guests_.end()) return;
  int there = 0;
  ioctl(guest->second.arrival.socket.get(), FIONREAD, &there);
  if (has_ended && there == 0) {
    remove(guest);
  } else if (has_ended || needs_thread(guest->second)) {
    epoll_ctl(events_.get(), EPOLL_CTL_DEL, guest->second.arrival.socket.get(), nullptr);
    Arrival arrival = std::move(guest->second.arrival);
    remove(guest);
    admission_.add(std::move(arrival));
  }
}

bool Lobby::needs_thread(Guest& guest) const {
  const int socket = guest.arrival.socket.get();
  if (!guest.needed) {
    std::array<char, kEnough> begun{};
    const ssize_t count = recv(socket, begun.data(), begun.size(), MSG_PEEK);
    if (count <= 0) return false;
    const auto size = static_cast<std::size_t>(count);
    guest.needed = size == kEnough ? size : bytes_before_thread({begun.data(), size}, most_body_);
    if (!guest.needed) return false;
  }
  int there = 0;
  ioctl(socket, FIONREAD, &there);
  return static_cast<std::size_t>(there) >= *guest.needed;
}

/// Those that have sent less than a request in the time of one.
void Lobby::end_late() {
  const auto now = Arrival::Clock::now();
  for (auto guest = guests_.begin();
       guest != guests_.end() && now - guest->second.arrival.at >= time_for(0);) {
    guest = turn_away(guest);
  }
}

Lobby::Guests::iterator Lobby::turn_away(Guests::iterator guest) {
  answer_too_slow(guest->second.arrival.socket.get());
  return remove(guest);
}

Lobby::Guests::iterator Lobby::remove(Guests::iterator guest) {
  const auto count = of_peer_.find(guest->second.arrival.peer);
  if (--count->second == 0) of_peer_.erase(count);
  return guests_.erase(guest);
}

}  // namespace geiger::serve
