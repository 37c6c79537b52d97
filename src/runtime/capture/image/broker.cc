#include "runtime/capture/image/broker.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include <atomic>

#include "base/attributes.h"
#include "base/clock.h"
#include "base/raw_syscall.h"
#include "runtime/capture/image/image.h"
#include "trace/broker.h"

namespace geiger::capture {
namespace {

using base::is_error;
using base::raw_syscall;
using trace::BrokerAction;
using trace::BrokerAnswer;
using trace::BrokerRequest;

/// Set if the supervisor did not answer: it is not asked again, as the program would wait each
/// time.
constinit std::atomic<bool> is_silent{false};

long call(long number, long fd, const void* what, std::size_t size = 0) {
  return raw_syscall(number, fd, reinterpret_cast<long>(what), static_cast<long>(size));
}

constexpr Nanoseconds kPatience = 1'000'000'000;

bool set_patience(long fd) {
  const timeval patience{kPatience / 1'000'000'000, 0};
  const auto set = [&](int option) {
    return raw_syscall(SYS_setsockopt, fd, SOL_SOCKET, option, reinterpret_cast<long>(&patience),
                       sizeof patience);
  };
  return !is_error(set(SO_RCVTIMEO)) && !is_error(set(SO_SNDTIMEO));
}

bool reach(long fd) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  char* name = address.sun_path + 1;  // The NUL before it makes it abstract.
  memcpy(name, trace::kBrokerPrefix, sizeof trace::kBrokerPrefix - 1);
  memcpy(name + sizeof trace::kBrokerPrefix - 1, image.settings.broker, trace::kBrokerName);
  constexpr std::size_t kLength =
      offsetof(sockaddr_un, sun_path) + 1 + sizeof trace::kBrokerPrefix - 1 + trace::kBrokerName;
  return set_patience(fd) && !is_error(call(SYS_connect, fd, &address, kLength));
}

/// The descriptor in the answer, 0 without one, or -errno.
long receive(long fd) {
  BrokerAnswer answer{};
  iovec part{&answer, sizeof answer};
  alignas(cmsghdr) char room[CMSG_SPACE(sizeof(int))]{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = room;
  message.msg_controllen = sizeof room;
  // Each signal of the program restarts the socket's timeout.
  const Nanoseconds end = base::monotonic_now() + kPatience;
  long got = 0;
  do {
    got = raw_syscall(SYS_recvmsg, fd, reinterpret_cast<long>(&message), MSG_CMSG_CLOEXEC);
  } while (got == -EINTR && base::monotonic_now() < end);
  if (got != static_cast<long>(sizeof answer)) {
    is_silent.store(true, std::memory_order_relaxed);
    return -ETIMEDOUT;
  }
  if (answer.error != 0) return -answer.error;
  const cmsghdr* with = CMSG_FIRSTHDR(&message);
  if (with == nullptr || with->cmsg_type != SCM_RIGHTS) return 0;
  int descriptor = 0;
  memcpy(&descriptor, CMSG_DATA(with), sizeof descriptor);
  return descriptor;
}

long ask(const BrokerRequest& request) {
  const long fd = raw_syscall(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (is_error(fd)) return fd;
  long result = -ECONNREFUSED;
  if (reach(fd) && !is_error(raw_syscall(SYS_sendto, fd, reinterpret_cast<long>(&request),
                                         sizeof request, MSG_NOSIGNAL))) {
    result = receive(fd);
  }
  raw_syscall(SYS_close, fd);
  return result;
}

GEIGER_SLOW_PATH long request(BrokerAction action, const char* name) {
  if (image.settings.broker == nullptr || is_silent.load(std::memory_order_relaxed)) return -EACCES;
  BrokerRequest wanted{};
  if (strlen(name) >= sizeof wanted.name) return -ENAMETOOLONG;
  wanted.action = action;
  memcpy(wanted.secret, image.settings.broker + trace::kBrokerName, sizeof wanted.secret);
  strcpy(wanted.name, name);
  return ask(wanted);
}

}  // namespace

long open_by_broker(const char* name) {
  const long fd = request(BrokerAction::kOpen, name);
  return fd == 0 ? -EPROTO : fd;
}

bool remove_by_broker(const char* name) { return request(BrokerAction::kRemove, name) == 0; }

}  // namespace geiger::capture
