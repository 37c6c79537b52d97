#include "control/trace_broker.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <string_view>
#include <system_error>

#include "base/hex.h"
#include "trace/format.h"

namespace geiger::control {
namespace {

using trace::BrokerAction;
using trace::BrokerAnswer;
using trace::BrokerRequest;

constexpr int kWaiting = 64;  ///< Connections that may wait to be accepted.

std::string random_digits(std::size_t count) {
  std::string bytes(count / 2, '\0');
  const auto size = static_cast<ssize_t>(bytes.size());
  if (getrandom(bytes.data(), bytes.size(), 0) != size) return {};
  return base::hex_of(bytes);
}

void limit_wait(int connection) {
  const timeval patience{1, 0};
  setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  setsockopt(connection, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
}

void send_answer(int connection, const BrokerAnswer& answer, const base::UniqueFd& made) {
  iovec part{const_cast<BrokerAnswer*>(&answer), sizeof answer};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> room{};
  if (made.is_open()) {
    message.msg_control = room.data();
    message.msg_controllen = room.size();
    cmsghdr* with = CMSG_FIRSTHDR(&message);
    with->cmsg_level = SOL_SOCKET;
    with->cmsg_type = SCM_RIGHTS;
    with->cmsg_len = CMSG_LEN(sizeof(int));
    const int fd = made.get();
    std::memcpy(CMSG_DATA(with), &fd, sizeof fd);
  }
  static_cast<void>(sendmsg(connection, &message, MSG_NOSIGNAL));
}

}  // namespace

bool is_trace_name(std::string_view name) {
  constexpr std::string_view kSuffix = ".geiger";
  return name.size() > kSuffix.size() && name.ends_with(kSuffix) && name.front() != '.' &&
         name.find('/') == std::string_view::npos;
}

std::unique_ptr<TraceBroker> TraceBroker::open(const std::string& directory) {
  if (geteuid() != 0) return nullptr;
  std::unique_ptr<TraceBroker> broker(new TraceBroker);
  if (!broker->listen(directory)) return nullptr;
  try {
    broker->thread_ = std::thread([own = broker.get()] { own->serve(); });
  } catch (const std::system_error&) {
    return nullptr;  // The program runs all the same.
  }
  return broker;
}

TraceBroker::~TraceBroker() {
  if (!thread_.joinable()) return;
  is_ending_ = true;
  shutdown(socket_.get(), SHUT_RDWR);  // Wakes it.
  thread_.join();
}

bool TraceBroker::listen(const std::string& directory) {
  digits_ = random_digits(trace::kBrokerName + trace::kBrokerSecret);
  directory_ = base::UniqueFd(::open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  socket_ = base::UniqueFd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (digits_.empty() || !directory_.is_open() || !socket_.is_open()) return false;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  // The NUL before the name makes it abstract.
  const std::string name = trace::kBrokerPrefix + digits_.substr(0, trace::kBrokerName);
  name.copy(address.sun_path + 1, name.size());
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), length) == 0 &&
         ::listen(socket_.get(), kWaiting) == 0;
}

void TraceBroker::serve() const {
  constexpr std::chrono::milliseconds kRest{20};
  while (!is_ending_) {
    const base::UniqueFd connection(accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (connection.is_open()) {
      answer(connection.get());
    } else if (!is_ending_) {
      std::this_thread::sleep_for(kRest);  // No descriptor is free.
    }
  }
}

void TraceBroker::answer(int connection) const {
  limit_wait(connection);
  BrokerRequest request{};
  if (recv(connection, &request, sizeof request, 0) != static_cast<ssize_t>(sizeof request)) return;
  request.name[sizeof request.name - 1] = '\0';
  base::UniqueFd made;
  const BrokerAnswer result = perform(request, made);
  send_answer(connection, result, made);
}

BrokerAnswer TraceBroker::perform(const BrokerRequest& request, base::UniqueFd& made) const {
  const std::string_view secret(request.secret, sizeof request.secret);
  if (digits_.substr(trace::kBrokerName) != secret) return {EACCES};
  if (!is_trace_name(request.name)) return {EINVAL};
  if (request.action == BrokerAction::kRemove) {
    return {unlinkat(directory_.get(), request.name, 0) == 0 ? 0 : errno};
  }
  made =
      base::UniqueFd(openat(directory_.get(), request.name,
                            O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, trace::kFileMode));
  return {made.is_open() ? 0 : errno};
}

}  // namespace geiger::control
