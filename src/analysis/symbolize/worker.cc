#include "analysis/symbolize/worker.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <new>
#include <utility>
#include <vector>

namespace geiger::symbolize {

namespace {

using std::chrono::milliseconds;

/// Bytes of private writable memory that this process has: what RLIMIT_DATA
/// counts. 0 if /proc is not there.
Bytes data_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::array<Bytes, 6> pages{};
  for (Bytes& count : pages) statm >> count;
  return statm ? pages[5] * static_cast<Bytes>(::sysconf(_SC_PAGESIZE)) : 0;
}

/// Never above the hard limit, so it cannot fail for lack of rights.
void set_soft_limit(__rlimit_resource resource, Bytes value) {
  rlimit limit{};
  if (::getrlimit(resource, &limit) != 0) return;
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, value);
  ::setrlimit(resource, &limit);
}

void lower_hard_limit(__rlimit_resource resource, Bytes value) {
  rlimit limit{};
  if (::getrlimit(resource, &limit) != 0) return;
  limit.rlim_max = std::min<rlim_t>(limit.rlim_max, value);
  limit.rlim_cur = std::min(limit.rlim_cur, limit.rlim_max);
  ::setrlimit(resource, &limit);
}

/// Another architecture's numbers mean other calls; and later ones have no calls without a folder
/// to begin at.
#if defined(__x86_64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_X86_64;
constexpr std::array kOldCalls{SYS_stat, SYS_lstat, SYS_access, SYS_readlink, SYS_pause};
constexpr std::array kOldOpen{SYS_open};
#elif defined(__aarch64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
constexpr std::array<long, 0> kOldCalls{};
constexpr std::array<long, 0> kOldOpen{};
#else
#error "which audit architecture is this?"
#endif

/// What reading files, allocating and dying take. Whatever is not here fails
/// with EPERM, which libraries take for "not possible", and never kills: a libc that
/// tries a new call first falls back to an old one.
constexpr std::array kAllowed{SYS_read,          SYS_pread64,         SYS_readv,
                              SYS_write,         SYS_writev,          SYS_close,
                              SYS_fstat,         SYS_newfstatat,      SYS_statx,
                              SYS_lseek,         SYS_faccessat,       SYS_faccessat2,
                              SYS_readlinkat,    SYS_getcwd,          SYS_fcntl,
                              SYS_munmap,        SYS_mremap,          SYS_madvise,
                              SYS_brk,           SYS_getpid,          SYS_gettid,
                              SYS_rt_sigaction,  SYS_rt_sigprocmask,  SYS_rt_sigreturn,
                              SYS_sigaltstack,   SYS_futex,           SYS_sched_yield,
                              SYS_getrlimit,     SYS_setrlimit,       SYS_setitimer,
                              SYS_clock_gettime, SYS_clock_nanosleep, SYS_nanosleep,
                              SYS_getrandom,     SYS_sysinfo,         SYS_uname,
                              SYS_exit,          SYS_exit_group,      SYS_restart_syscall};

/// A filter under construction: each rule either decides or leaves it to the next.
class Filter {
 public:
  Filter() {
    load(offsetof(seccomp_data, arch));
    add(BPF_JMP | BPF_JEQ | BPF_K, kArchitecture, 1, 0);
    add(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    load(offsetof(seccomp_data, nr));
  }

  void allow(long call) {
    add(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(call), 0, 1);
    add(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  }

  /// Allows `call` if none of `bits` is set in its argument number `index`.
  void allow_without(long call, std::size_t index, std::uint32_t bits) {
    add(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(call), 0, 4);
    load(argument(index));
    add(BPF_JMP | BPF_JSET | BPF_K, bits, 1, 0);
    add(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    refuse();
  }

  /// Allows `call` if its argument number `index` is `value`.
  void allow_equal(long call, std::size_t index, std::uint32_t value) {
    add(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(call), 0, 4);
    load(argument(index));
    add(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1);
    add(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    refuse();
  }

  void refuse() { add(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM); }

  void install() {
    const sock_fprog program{static_cast<unsigned short>(code_.size()), code_.data()};
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return;
    ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
  }

 private:
  void add(int code, std::uint32_t value, std::uint8_t if_true = 0, std::uint8_t if_false = 0) {
    code_.push_back({static_cast<std::uint16_t>(code), if_true, if_false, value});
  }
  void load(std::size_t offset) {
    add(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset));
  }
  /// The lower half: flags, descriptors and process ids have no more.
  static std::size_t argument(std::size_t index) {
    return offsetof(seccomp_data, args) + index * sizeof(std::uint64_t);
  }

  std::vector<sock_filter> code_;
};

void filter_system_calls() {
  constexpr std::uint32_t kWriting = O_WRONLY | O_RDWR | O_CREAT | O_TRUNC;
  Filter filter;
  for (const long call : kAllowed) filter.allow(call);
  for (const long call : kOldCalls) filter.allow(call);
  filter.allow_without(SYS_openat, 2, kWriting);
  for (const long call : kOldOpen) filter.allow_without(call, 1, kWriting);
  filter.allow_without(SYS_mmap, 2, PROT_EXEC);
  filter.allow_without(SYS_mprotect, 2, PROT_EXEC);
  filter.allow_equal(SYS_prlimit64, 0, 0);
  // How abort() dies.
  filter.allow_equal(SYS_tgkill, 0, static_cast<std::uint32_t>(::getpid()));
  filter.refuse();
  filter.install();
}

/// Libraries' last words (of malloc, of libdw) are not for the user's terminal, and
/// what the parent has buffered is not for the child to write.
void leave_descriptors(const base::UniqueFd& out) {
  const int null = ::open("/dev/null", O_RDWR);
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (standard == out.get()) continue;
    if (null < 0 || ::dup2(null, standard) < 0) ::close(standard);
  }
  const auto kept = static_cast<unsigned>(std::max(out.get(), STDERR_FILENO));
  if (kept > STDERR_FILENO + 1) ::close_range(STDERR_FILENO + 1, kept - 1, 0);
  ::close_range(kept + 1, ~0U, 0);
}

timeval timeval_of(milliseconds time) { return {time.count() / 1000, time.count() % 1000 * 1000}; }

void set_alarm(__itimer_which clock, milliseconds time) {
  const itimerval once{{0, 0}, timeval_of(time)};
  ::setitimer(clock, &once, nullptr);
}

std::string seconds_text(milliseconds time) {
  const auto tenths = (time.count() + 99) / 100;
  std::string text = std::to_string(tenths / 10);
  if (tenths % 10 != 0) text += "." + std::to_string(tenths % 10);
  return text + " s";
}

}  // namespace

JobLimits job_limits(Bytes file_bytes, std::size_t addresses, bool reads_dwarf) {
  constexpr Bytes kMost = 4 * kGiB;
  constexpr milliseconds kLongest = std::chrono::minutes(5);
  const auto in_time = [](Bytes count) {
    return milliseconds(static_cast<std::int64_t>(std::min<Bytes>(count, 1'000'000)));
  };
  JobLimits limits;
  // Sections may be compressed; real ones unpack to three or four times their size.
  limits.memory = std::min(kMost, 400 * kMiB + 8 * std::min(file_bytes, kGiB));
  limits.processor = milliseconds(reads_dwarf ? 2500 : 1500) + in_time(file_bytes / (4 * kKiB)) +
                     in_time(addresses);
  limits.processor = std::min(limits.processor, kLongest);
  limits.patience = std::min(4 * limits.processor + std::chrono::seconds(10), kLongest);
  return limits;
}

Bytes bytes_on_disk(const std::string& path) {
  constexpr Bytes kBlockBytes = 512;  // st_blocks, whatever the file system uses
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return 0;
  return static_cast<Bytes>(status.st_blocks) * kBlockBytes;
}

void confine(pid_t parent, const base::UniqueFd& out, Bytes most_memory, bool may_use_network) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  for (const int signal : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGPIPE, SIGPROF, SIGALRM}) {
    ::signal(signal, SIG_DFL);
  }
  // Handlers of the parent would act on things that it shares; it decides.
  for (const int signal : {SIGINT, SIGQUIT, SIGTERM, SIGHUP}) ::signal(signal, SIG_IGN);
  lower_hard_limit(RLIMIT_CORE, 0);
  const Bytes held = data_bytes();
  if (held != 0) lower_hard_limit(RLIMIT_DATA, held + most_memory);
  leave_descriptors(out);
  if (!may_use_network) filter_system_calls();
}

void limit_job(const JobLimits& limits) {
  const Bytes held = data_bytes();
  if (held != 0) set_soft_limit(RLIMIT_DATA, held + limits.memory);
  set_alarm(ITIMER_PROF, limits.processor);
  set_alarm(ITIMER_REAL, limits.patience);
}

std::string cause_of_death(int status, const JobLimits& limits) {
  if (WIFEXITED(status) && WEXITSTATUS(status) == kOutOfMemory) {
    return "it took more than " + std::to_string(limits.memory / kMiB) + " MiB of memory";
  }
  if (!WIFSIGNALED(status)) return "the process that reads it gave up";
  const int signal = WTERMSIG(status);
  if (signal == SIGPROF) {
    return "it took more than " + seconds_text(limits.processor) + " of processor time";
  }
  if (signal == SIGALRM) return "it took longer than " + seconds_text(limits.patience);
  return std::string("the process that reads it crashed: ") + ::strsignal(signal);
}

namespace {

enum class MessageKind : std::uint32_t { kProgress = 1, kAnswer = 2 };

/// In front of each message, in memory order: both ends are the same program.
struct MessageHeader {
  MessageKind kind{};
  FileState file_state{};
  std::uint32_t build_id_bytes = 0;
  std::uint32_t missing_bytes = 0;
  std::uint64_t done = 0;
  std::uint64_t payload_bytes = 0;  ///< An encoded SymbolSet.
};

/// Time between checks whether to stop.
constexpr std::chrono::milliseconds kLookAgain{50};

/// Answers are held in memory twice for a moment. The names of a browser take less.
constexpr std::uint64_t kMaxPayloadBytes = 128 * kMiB;
constexpr std::uint32_t kMaxTextBytes = 4096;

std::string to_bytes(const MessageHeader& header) {
  std::string bytes(sizeof header, '\0');
  std::memcpy(bytes.data(), &header, sizeof header);
  return bytes;
}

bool send(const base::UniqueFd& out, const ModuleAnswer& answer) {
  const std::string payload = encode(answer.names);
  MessageHeader header{MessageKind::kAnswer, answer.file_state};
  header.build_id_bytes = static_cast<std::uint32_t>(answer.found_build_id.size());
  const std::string missing = answer.missing.substr(0, kMaxTextBytes);
  header.missing_bytes = static_cast<std::uint32_t>(missing.size());
  header.payload_bytes = payload.size();
  return write_all(out, to_bytes(header)) && write_all(out, answer.found_build_id) &&
         write_all(out, missing) && write_all(out, payload);
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
      header.build_id_bytes <= kMaxTextBytes && header.missing_bytes <= kMaxTextBytes &&
      header.payload_bytes <= kMaxPayloadBytes;
  if (!is_sane) return std::nullopt;
  auto build_id = read_exactly(header.build_id_bytes);
  auto missing = read_exactly(header.missing_bytes);
  const auto payload = read_exactly(header.payload_bytes);
  if (!build_id || !missing || !payload) return std::nullopt;
  auto decoded = decode(*payload);
  if (!decoded.has_value()) return std::nullopt;
  return WorkerMessage{0, ModuleAnswer{header.file_state, *std::move(build_id), *std::move(missing),
                                       decoded.release()}};
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
