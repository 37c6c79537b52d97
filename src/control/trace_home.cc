#include "control/trace_home.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <string_view>
#include <system_error>

#include "analysis/ingest/seal.h"
#include "base/text.h"
#include "control/control_page.h"
#include "control/run_directory.h"
#include "foreign/open.h"
#include "inject/target.h"
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

/// Whether both see the same abstract sockets.
bool shares_network(pid_t pid) {
  struct stat ours {};
  struct stat its {};
  return stat("/proc/self/ns/net", &ours) == 0 &&
         stat(fmt::format("/proc/{}/ns/net", pid).c_str(), &its) == 0 &&
         ours.st_ino == its.st_ino && ours.st_dev == its.st_dev;
}

/// A socket in the network namespace of a process, where alone the process sees its abstract name.
base::UniqueFd socket_seen_by(pid_t pid) {
  const auto make = [] {
    return base::UniqueFd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  };
  if (shares_network(pid)) return make();
  base::UniqueFd made;
  const base::UniqueFd network(
      ::open(fmt::format("/proc/{}/ns/net", pid).c_str(), O_RDONLY | O_CLOEXEC));
  // Only this thread enters the namespace.
  std::thread([&] {
    if (setns(network.get(), CLONE_NEWNET) == 0) made = make();
  }).join();
  return made;
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

std::unique_ptr<TraceBroker> TraceBroker::open(const std::string& directory, pid_t pid) {
  if (geteuid() != 0) return nullptr;
  std::unique_ptr<TraceBroker> broker(new TraceBroker);
  try {
    if (!broker->listen(directory, pid)) return nullptr;
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

bool TraceBroker::listen(const std::string& directory, pid_t pid) {
  digits_ = random_digits(trace::kBrokerName + trace::kBrokerSecret);
  directory_ = base::UniqueFd(::open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  socket_ = socket_seen_by(pid);
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

namespace {

using foreign::ActingWith;
using foreign::ProcessRoot;

/// Whose root could not be opened.
base::Failure no_process(pid_t pid) {
  const std::string status = fmt::format("/proc/{}/status", pid);
  if (access(status.c_str(), F_OK) != 0) {
    return base::Failure{fmt::format("there is no process {}", pid)};
  }
  return base::Failure{
      fmt::format("process {} may not be examined: {} (ptrace(2) must be permitted)", pid,
                  std::strerror(EACCES))};
}

base::Failure no_place_for(pid_t pid) {
  return base::Failure{
      fmt::format("process {} has no directory that it can write a trace to", pid)};
}

/// The runtime asks no broker if system calls are filtered.
bool can_ask_broker(pid_t pid) {
  const auto facts = inject::facts_of(pid);
  return geteuid() == 0 && facts && facts->confinement.mode == 0;
}

/// Whether the directory is the process's, or now becomes it.
bool is_given(const ProcessRoot& root, const std::string& directory) {
  const base::UniqueFd made(
      open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat status {};
  if (!made.is_open() || fstat(made.get(), &status) != 0) return false;
  const foreign::Rights& rights = root.rights();
  return status.st_uid == rights.user || foreign::give_away(made.get(), rights.user, rights.group);
}

// The writer may still be inside, so its file keeps its size.
void give_back_storage(int fd) {
  struct stat status {};
  if (fstat(fd, &status) != 0) return;
  static_cast<void>(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, status.st_size));
}

}  // namespace

base::Outcome<TraceHome> TraceHome::prepare(pid_t pid, const std::string& home, bool replaces) {
  TraceHome result;
  result.root_ = ProcessRoot::open(pid);
  if (!result.root_) return no_process(pid);
  GEIGER_TRY(create_run_directory(home, replaces));
  result.home_ = result.seen_path_ = result.watched_ = home;
  const bool is_ours = result.root_->rights().user == geteuid();
  if (is_ours && result.root_->can_write_to(home)) return result;
  if (can_ask_broker(pid)) result.broker_ = TraceBroker::open(home, pid);
  if (result.broker_ || result.find_place_there()) return result;
  result.abandon();
  return no_place_for(pid);
}

base::Outcome<std::string> TraceHome::make_directory(pid_t pid, const std::string& home) {
  TraceHome away;
  away.root_ = ProcessRoot::open(pid);
  if (!away.root_) return no_process(pid);
  const bool is_new = mkdir(home.c_str(), 0700) == 0;
  const int refusal = is_new || errno == EEXIST ? 0 : errno;
  if (refusal == 0 && is_given(*away.root_, home) && away.root_->can_write_to(home)) return home;
  if (is_new) rmdir(home.c_str());
  if (away.find_place_there()) return away.seen_path_;
  if (refusal == 0) return no_place_for(pid);
  return base::Failure{fmt::format("{}: {}", home.empty() ? "." : home, std::strerror(refusal))};
}

bool TraceHome::find_place_there() {
  for (const char* place : {"/tmp", "/var/tmp", "/dev/shm"}) {
    away_ = root_->make_directory(place);
    if (!away_) continue;
    seen_path_ = fmt::format("{}/{}", place, away_->name);
    watched_ = fmt::format("/proc/self/fd/{}", away_->directory.get());
    return true;
  }
  return false;
}

std::optional<foreign::Rights> TraceHome::rights() const {
  return is_away() ? std::optional(root_->rights()) : std::nullopt;
}

base::UniqueFd TraceHome::open(const std::string& name) const {
  if (!is_away()) return open_to_control(watched_ + "/" + name);
  const ActingWith acting(root_->rights());
  return acting.is_in_force() ? open_to_control(away_->directory.get(), name) : base::UniqueFd();
}

void TraceHome::remove(const std::string& name) const {
  if (!is_away()) return void(unlink((watched_ + "/" + name).c_str()));
  const ActingWith acting(root_->rights());
  if (acting.is_in_force()) unlinkat(away_->directory.get(), name.c_str(), 0);
}

std::string TraceHome::bring_home() const {
  std::string sentences;
  for (const auto& name : traces_in(watched_)) sentences += bring_home(name);
  if (is_away() && sentences.empty()) remove_away();
  return sentences;
}

/// What is read is what is given back and removed: another process may change names meanwhile.
std::string TraceHome::bring_home(const std::string& name) const {
  const base::UniqueFd old = open(name);
  if (!old.is_open()) return fmt::format("{}/{}: {}\n", seen_path_, name, std::strerror(errno));
  const std::string from = fmt::format("/proc/self/fd/{}", old.get());
  const auto packed = ingest::pack_images({&from, 1}, home_ + "/" + name, true);
  if (!packed.has_value()) {
    ingest::Error error = packed.failure();
    if (error.path == from) error.path = seen_path_ + "/" + name;
    return error.text() + "\n";
  }
  give_back_storage(old.get());
  if (is_away()) remove(name);
  return {};
}

void TraceHome::remove_away() const {
  const ActingWith acting(root_->rights());
  if (acting.is_in_force()) unlinkat(away_->parent.get(), away_->name.c_str(), AT_REMOVEDIR);
}

void TraceHome::abandon() const {
  remove_run_directory(home_);
  if (!is_away()) return;
  for (const auto& name : traces_in(watched_)) remove(name);
  remove_away();
}

}  // namespace geiger::control
