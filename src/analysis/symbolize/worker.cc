#include "analysis/symbolize/worker.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <utility>
#include <variant>

namespace geiger::symbolize {
namespace {

enum class Kind : std::uint32_t { kProgress = 1, kAnswer = 2 };

/// In front of each message, in memory order: both ends are the same program.
struct MessageHeader {
  Kind kind{};
  Finding finding{};
  std::uint32_t build_id_bytes = 0;
  std::uint64_t done = 0;
  std::uint64_t payload_bytes = 0;  ///< An encoded SymbolSet.
};

/// Answers are held in memory twice for a moment.
constexpr std::uint64_t kMaxPayloadBytes = kGiB;
constexpr std::uint32_t kMaxBuildIdBytes = 4096;

std::string to_bytes(const MessageHeader& header) {
  std::string bytes(sizeof header, '\0');
  std::memcpy(bytes.data(), &header, sizeof header);
  return bytes;
}

/// Bytes of private writable memory that this process has: what RLIMIT_DATA
/// counts. 0 if /proc is not there.
Bytes data_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::array<Bytes, 6> pages{};
  for (Bytes& count : pages) statm >> count;
  return statm ? pages[5] * static_cast<Bytes>(::sysconf(_SC_PAGESIZE)) : 0;
}

/// Never raises a limit, so it cannot fail for lack of rights.
void lower_limit(__rlimit_resource resource, Bytes value) {
  rlimit limit{};
  if (::getrlimit(resource, &limit) != 0) return;
  limit.rlim_cur = std::min<rlim_t>({limit.rlim_cur, limit.rlim_max, value});
  ::setrlimit(resource, &limit);
}

/// The child dies with its parent, leaves no core, and does not write its last
/// words (of a C++ library, of malloc) into the user's terminal.
void confine(pid_t parent, const WorkerLimits& limits) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
  for (const int signal : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGPIPE}) {
    ::signal(signal, SIG_DFL);
  }
  // Handlers of the parent would act on things that it shares; it decides.
  for (const int signal : {SIGINT, SIGQUIT, SIGTERM, SIGHUP}) ::signal(signal, SIG_IGN);
  lower_limit(RLIMIT_CORE, 0);
  const Bytes held = data_bytes();
  if (held != 0) lower_limit(RLIMIT_DATA, held + limits.memory);
  const FileDescriptor null(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  if (null) ::dup2(null.get(), STDERR_FILENO);
}

bool send(const FileDescriptor& out, const ModuleAnswer& answer) {
  const std::string payload = encode(answer.names);
  MessageHeader header{Kind::kAnswer, answer.finding};
  header.build_id_bytes = static_cast<std::uint32_t>(answer.found_build_id.size());
  header.payload_bytes = payload.size();
  return write_all(out, to_bytes(header)) && write_all(out, answer.found_build_id) &&
         write_all(out, payload);
}

bool send_progress(const FileDescriptor& out, std::size_t done) {
  MessageHeader header{Kind::kProgress, Finding::kUnreadable};
  header.done = done;
  return write_all(out, to_bytes(header));
}

[[noreturn]] void run_child(std::span<const ModuleJob> jobs, const Worker::Work& work,
                            const FileDescriptor& out) {
  for (const ModuleJob& job : jobs) {
    const auto progress = [&](std::size_t done) {
      if (!send_progress(out, done)) ::_exit(1);
    };
    if (!send(out, work(job, progress))) ::_exit(1);
  }
  ::_exit(0);
}

}  // namespace

Worker::Worker(std::span<const ModuleJob> jobs, const Work& work, const WorkerLimits& limits)
    : limits_(limits) {
  std::array<int, 2> ends{-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return;
  FileDescriptor in(ends[0]);
  const FileDescriptor out(ends[1]);
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ == 0) {
    in.reset();
    confine(parent, limits);
    // An exception must not unwind into the parent's frames.
    try {
      run_child(jobs, work, out);
    } catch (...) {
      ::_exit(1);
    }
  }
  if (pid_ > 0) answers_ = std::move(in);
}

Worker::~Worker() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) continue;
}

std::optional<WorkerMessage> Worker::receive() {
  const auto head = read_exactly(sizeof(MessageHeader));
  if (!head) return std::nullopt;
  MessageHeader header;
  std::memcpy(&header, head->data(), sizeof header);
  if (header.kind == Kind::kProgress) return WorkerMessage{header.done, std::nullopt};
  const bool is_sane = header.kind == Kind::kAnswer && header.finding <= Finding::kUnreadable &&
                       header.build_id_bytes <= kMaxBuildIdBytes &&
                       header.payload_bytes <= kMaxPayloadBytes;
  if (!is_sane) return std::nullopt;
  auto build_id = read_exactly(header.build_id_bytes);
  const auto payload = read_exactly(header.payload_bytes);
  if (!build_id || !payload) return std::nullopt;
  auto decoded = decode(*payload);
  auto* const names = std::get_if<SymbolSet>(&decoded);
  if (names == nullptr) return std::nullopt;
  return WorkerMessage{0, ModuleAnswer{header.finding, *std::move(build_id), std::move(*names)}};
}

std::optional<std::string> Worker::read_exactly(std::size_t bytes) {
  std::string text;
  if (!answers_) return std::nullopt;
  constexpr std::size_t kPiece = std::size_t{1} << 20;
  while (text.size() < bytes) {
    pollfd ready{answers_.get(), POLLIN, 0};
    const int count = ::poll(&ready, 1, static_cast<int>(limits_.silence.count()));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return std::nullopt;
    const std::size_t had = text.size();
    text.resize(had + std::min(kPiece, bytes - had));
    const ssize_t got = ::read(answers_.get(), text.data() + had, text.size() - had);
    text.resize(had + static_cast<std::size_t>(got > 0 ? got : 0));
    if (got == 0 || (got < 0 && errno != EINTR)) return std::nullopt;
  }
  return text;
}

}  // namespace geiger::symbolize
