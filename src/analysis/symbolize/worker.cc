#include "analysis/symbolize/worker.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <new>
#include <utility>

namespace geiger::symbolize {
namespace {

enum class MessageKind : std::uint32_t { kProgress = 1, kAnswer = 2 };

/// In front of each message, in memory order: both ends are the same program.
struct MessageHeader {
  MessageKind kind{};
  FileState file_state{};
  std::uint32_t build_id_bytes = 0;
  std::uint64_t done = 0;
  std::uint64_t payload_bytes = 0;  ///< An encoded SymbolSet.
};

/// Time between checks whether to stop.
constexpr std::chrono::milliseconds kLookAgain{50};

/// Answers are held in memory twice for a moment. The names of a browser take less.
constexpr std::uint64_t kMaxPayloadBytes = 128 * kMiB;
constexpr std::uint32_t kMaxBuildIdBytes = 4096;

std::string to_bytes(const MessageHeader& header) {
  std::string bytes(sizeof header, '\0');
  std::memcpy(bytes.data(), &header, sizeof header);
  return bytes;
}

bool send(const base::UniqueFd& out, const ModuleAnswer& answer) {
  const std::string payload = encode(answer.names);
  MessageHeader header{MessageKind::kAnswer, answer.file_state};
  header.build_id_bytes = static_cast<std::uint32_t>(answer.found_build_id.size());
  header.payload_bytes = payload.size();
  return write_all(out, to_bytes(header)) && write_all(out, answer.found_build_id) &&
         write_all(out, payload);
}

bool send_progress(const base::UniqueFd& out, std::size_t done) {
  MessageHeader header{MessageKind::kProgress, FileState::kUnreadable};
  header.done = done;
  return write_all(out, to_bytes(header));
}

[[noreturn]] void run_child(std::span<const ModuleJob> jobs, const Worker::Work& work,
                            const WorkerLimits& limits, const base::UniqueFd& out) {
  for (const ModuleJob& job : jobs) {
    if (limits.of_job) limit_job(limits.of_job(job));
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
  base::UniqueFd in(ends[0]);
  const base::UniqueFd out(ends[1]);
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ == 0) {
    in.reset();
    confine(parent, out, limits.memory, limits.may_use_network);
    // An exception must not unwind into the parent's frames.
    try {
      run_child(jobs, work, limits_, out);
    } catch (const std::bad_alloc&) {
      ::_exit(kOutOfMemory);
    } catch (...) {
      ::_exit(1);
    }
  }
  if (pid_ > 0) answers_ = std::move(in);
}

Worker::~Worker() { reap(); }

/// A process that is dying already keeps the status it dies with.
int Worker::reap() {
  if (pid_ <= 0) return 0;
  ::kill(pid_, SIGKILL);
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) continue;
  pid_ = -1;
  return status;
}

std::string Worker::end(const ModuleJob& job) {
  if (pid_ <= 0) return "no process to read it could be started";
  const int status = reap();
  if (is_silent_) return "the process that reads it stopped answering";
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
    return "the process that reads it was killed";
  return cause_of_death(status, limits_.of_job ? limits_.of_job(job) : JobLimits{});
}

std::optional<WorkerMessage> Worker::receive() {
  const auto head = read_exactly(sizeof(MessageHeader));
  if (!head) return std::nullopt;
  MessageHeader header;
  std::memcpy(&header, head->data(), sizeof header);
  if (header.kind == MessageKind::kProgress) return WorkerMessage{header.done, std::nullopt};
  const bool is_sane =
      header.kind == MessageKind::kAnswer && header.file_state <= FileState::kUnreadable &&
      header.build_id_bytes <= kMaxBuildIdBytes && header.payload_bytes <= kMaxPayloadBytes;
  if (!is_sane) return std::nullopt;
  auto build_id = read_exactly(header.build_id_bytes);
  const auto payload = read_exactly(header.payload_bytes);
  if (!build_id || !payload) return std::nullopt;
  auto decoded = decode(*payload);
  if (!decoded.has_value()) return std::nullopt;
  return WorkerMessage{0, ModuleAnswer{header.file_state, *std::move(build_id), decoded.release()}};
}

bool Worker::await_answer() {
  const auto latest = std::chrono::steady_clock::now() + limits_.silence;
  while (!limits_.stop.stop_requested()) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        latest - std::chrono::steady_clock::now());
    const auto wait = limits_.stop.stop_possible() ? std::min(left, kLookAgain) : left;
    pollfd ready{answers_.get(), POLLIN, 0};
    const int count = ::poll(&ready, 1, std::max(0, static_cast<int>(wait.count())));
    if (count > 0) return true;
    if (count < 0 && errno != EINTR) return false;
    is_silent_ = count == 0 && wait >= left;
    if (is_silent_) return false;
  }
  return false;
}

std::optional<std::string> Worker::read_exactly(std::size_t bytes) {
  std::string text;
  if (!answers_.is_open()) return std::nullopt;
  constexpr std::size_t kPiece = std::size_t{1} << 20;
  while (text.size() < bytes) {
    if (!await_answer()) return std::nullopt;
    const std::size_t had = text.size();
    text.resize(had + std::min(kPiece, bytes - had));
    const ssize_t got = ::read(answers_.get(), text.data() + had, text.size() - had);
    text.resize(had + static_cast<std::size_t>(got > 0 ? got : 0));
    if (got == 0 || (got < 0 && errno != EINTR)) return std::nullopt;
  }
  return text;
}

}  // namespace geiger::symbolize
