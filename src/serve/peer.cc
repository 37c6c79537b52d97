#include "serve/peer.h"

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstring>
#include <optional>

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

}  // namespace geiger::serve
