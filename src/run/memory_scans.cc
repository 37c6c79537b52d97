#include "run/memory_scans.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "analysis/content/content.h"
#include "analysis/holders/holders.h"
#include "analysis/ingest/observation_chunk.h"
#include "base/clock.h"
#include "base/text.h"
#include "trace/share.h"

namespace geiger::run {

namespace {

using std::chrono::nanoseconds;

/// Of a processor, while it scans, and with the rests in between.
constexpr double kScanShare = 0.5, kShareOfAll = 0.05;
constexpr nanoseconds kScanLook = std::chrono::milliseconds(100);
constexpr nanoseconds kNothingWanted = std::chrono::hours(1);

/// Never returns. What it writes is the answer, if it is whole.
[[noreturn]] void answer_as_child(MemoryScans::Scan scan, pid_t pid, const std::string& trace,
                                  MemoryScans::Wait wait, int answer, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  // Traces that are open here would seem to be written still.
  ::dup2(answer, STDERR_FILENO + 1);
  answer = STDERR_FILENO + 1;
  ::close_range(static_cast<unsigned>(answer) + 1, ~0U, 0);
  const std::string found = ingest::encode_observations(scan(pid, trace, wait));
  for (std::size_t done = 0; done < found.size();) {
    const ssize_t written = ::write(answer, found.data() + done, found.size() - done);
    if (written < 0) ::_exit(1);
    done += static_cast<std::size_t>(written);
  }
  ::_exit(0);
}

Nanoseconds cost_of(const profile::Observations& answer) {
  return (answer.holders ? answer.holders->cost : 0) +
         (answer.last_content ? answer.last_content->cost : 0);
}

}  // namespace

base::Outcome<std::string> store_holders(pid_t pid, control::LiveTrace trace) {
  const profile::Observations found = holders::find_holders(pid, trace.path(), {});
  if (!found.holders) return base::Failure{found.holders_fault};
  if (!trace.write_observation(found.holders->time, ingest::encode_observations(found))) {
    return base::Failure{
        fmt::format("{}: the recording ended or went on in another file before the "
                    "answer could be stored, or has no room for it",
                    trace.path())};
  }
  return fmt::format("what holds its memory ({} samples) is stored in {}",
                     found.holders->samples.size(), trace.path());
}

void keep_whole(profile::Observations& kept, profile::Observations later) {
  const bool is_whole = kept.holders && kept.holders_fault.empty();
  if (!is_whole || later.holders_fault.empty()) kept = std::move(later);
}

profile::Observations scan_for_holders(pid_t pid, const std::string& trace,
                                       MemoryScans::Wait wait) {
  constexpr Nanoseconds kExitPause = 100'000'000, kRest = 1'000'000'000;
  // Lower ones get next to nothing on a busy machine: a scan would outlive its program.
  constexpr int kLow = 5;
  if (wait == MemoryScans::Wait::kNone) ::setpriority(PRIO_PROCESS, 0, kLow);
  holders::Options options;
  if (wait == MemoryScans::Wait::kNone) options.share = kScanShare;
  if (wait == MemoryScans::Wait::kExit) {
    options.pause = kExitPause;
    options.processor = trace::kLongestExit - kRest;
    options.is_waiting = true;
  }
  return holders::find_holders(pid, trace, options);
}

profile::Observations scan_content(pid_t pid, const std::string& trace,
                                   MemoryScans::Wait /*wait*/) {
  return content::read_content(pid, trace);
}

MemoryScans::~MemoryScans() {
  for (const auto& [pid, process] : processes_) {
    if (process.child == 0) continue;
    ::syscall(SYS_pidfd_send_signal, process.handle.get(), SIGKILL, nullptr, 0);
    ::waitpid(process.child, nullptr, 0);
  }
}

void MemoryScans::want(pid_t pid, const std::string& trace, bool is_awaited) {
  Process& process = processes_[pid];
  process.is_wanted = true;
  process.is_awaited |= is_awaited;
  if (process.child == 0) process.trace = trace;
}

bool MemoryScans::have_last(pid_t pid, const std::string& trace) {
  Process& process = processes_[pid];
  if (std::exchange(process.exiting, trace) != trace) want(pid, trace, true);
  return process.child == 0 && !process.is_wanted;
}

void MemoryScans::begin(pid_t pid, Process& process) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return;
  process.answer = base::UniqueFd(ends[0]);
  const base::UniqueFd write(ends[1]);
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  const pid_t parent = ::getpid();
  process.child = ::fork();
  if (process.child == 0) {
    const auto wait = !process.exiting.empty() ? Wait::kExit
                      : process.is_awaited     ? Wait::kUser
                                               : Wait::kNone;
    answer_as_child(scan_, pid, process.trace, wait, write.get(), parent);
  }
  process.child = std::max(process.child, 0);
  process.handle = base::UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, process.child, 0)));
  process.is_wanted = false;
  process.begun = base::monotonic_now();
  process.received.clear();
}

bool MemoryScans::receive(Process& process) {
  std::array<char, 65536> part{};
  ssize_t got = 0;
  while ((got = ::read(process.answer.get(), part.data(), part.size())) > 0) {
    process.received.append(part.data(), static_cast<std::size_t>(got));
  }
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  ::waitpid(process.child, nullptr, 0);
  process.child = 0;
  process.answer = {};
  // References stay what they are.
  auto answer = ingest::decode_observations(
      process.received, [](trace::Ref ref) { return static_cast<std::uint32_t>(ref); });
  const Nanoseconds cost = answer ? cost_of(*answer) : 0;
  process.due = process.begun + static_cast<Nanoseconds>(static_cast<double>(cost) / kShareOfAll);
  if (answer) {
    keep_(answers_[std::string(base::file_name_of(process.trace))], std::move(*answer));
  }
  return true;
}

nanoseconds MemoryScans::round() {
  nanoseconds wait = kNothingWanted;
  for (auto& [pid, process] : processes_) {
    if (process.child != 0 && !receive(process)) wait = std::min(wait, kScanLook);
    if (process.child != 0 || !process.is_wanted) continue;
    const Nanoseconds now = base::monotonic_now();
    if (now >= process.due || process.is_awaited) {
      begin(pid, process);
      wait = std::min(wait, kScanLook);
    } else {
      wait = std::min(wait, nanoseconds(process.due - now));
    }
  }
  return wait;
}

bool MemoryScans::is_busy() const {
  return std::ranges::any_of(processes_, [](const auto& each) { return each.second.child != 0; });
}

void MemoryScans::finish() {
  constexpr int kSeconds = 5;
  for (auto& [pid, process] : processes_) {
    process.is_wanted = false;
    for (int i = 0; i < kSeconds * 10 && process.child != 0 && !receive(process); ++i) {
      pollfd source{process.answer.get(), POLLIN, 0};
      ::poll(&source, 1, 100);
    }
  }
}

bool MemoryScans::add_to(const std::string& trace, profile::Observations& observations) {
  const auto found = answers_.find(std::string(base::file_name_of(trace)));
  if (found == answers_.end()) return false;
  profile::append(observations, std::move(found->second));
  answers_.erase(found);
  return true;
}

}  // namespace geiger::run
