// The threads of a process, those best to borrow first.
#include "inject/inject.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/attachment.h"
#include "base/clock.h"
#include "foreign/process_root.h"
#include "inject/borrowed_thread.h"
#include "inject/copy_checks.h"
#include "inject/machine.h"
#include "inject/registers.h"
#include "inject/remote_modules.h"
#include "inject/safe_point.h"
#include "inject/target.h"

namespace geiger::inject {

/// Threads whose system call is restarted come first, those that would see EINTR last.
[[nodiscard]] std::vector<pid_t> threads_by_rank(pid_t pid);

/// Reads each rank once: threads continue to run, and sorting by a changing order is undefined.
std::vector<pid_t> threads_by_rank(pid_t pid) {
  std::vector<std::pair<StopEffect, pid_t>> ranked;
  for (const pid_t tid : threads_of(pid)) ranked.emplace_back(effect_of_stop(pid, tid), tid);
  std::ranges::stable_sort(ranked, {}, &std::pair<StopEffect, pid_t>::first);
  std::vector<pid_t> threads;
  for (const auto& [rank, tid] : ranked) threads.push_back(tid);
  return threads;
}

namespace {

using std::chrono::microseconds;
using std::chrono::nanoseconds;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kPatience{10};
constexpr int kTriesPerLook = 50;
constexpr const char* kUnwritable = "its memory cannot be written";
constexpr const char* kGeigerEnded = "geiger has ended";

/// The library's bytes up to the end of its loaded segments: debug information is neither read,
/// which takes seconds on a busy disk, nor copied.
std::string loadable_part(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  Elf64_Ehdr header{};
  const auto read = [&in](std::uint64_t at, void* into, std::uint64_t size) {
    in.seekg(static_cast<std::streamoff>(at));
    return bool(in.read(static_cast<char*>(into), static_cast<std::streamsize>(size)));
  };
  if (!read(0, &header, sizeof header)) return {};
  std::uint64_t end = 0;
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment{};
    if (!read(header.e_phoff + i * sizeof segment, &segment, sizeof segment)) return {};
    if (segment.p_type == PT_LOAD) end = std::max(end, segment.p_offset + segment.p_filesz);
  }
  std::string bytes(end, '\0');
  if (end < sizeof header || !read(0, bytes.data(), end)) return {};
  header.e_shoff = 0;
  header.e_shnum = header.e_shstrndx = 0;
  std::memcpy(bytes.data(), &header, sizeof header);
  bytes.resize(end);
  return bytes;
}

/// Whether the process may write a file of this size: a write beyond its limit would end it.
/// Another user's limits are read like this also without CAP_SYS_RESOURCE, which prlimit() wants.
bool may_write(pid_t pid, std::uint64_t size) {
  constexpr std::string_view kLimit = "Max file size";
  std::ifstream limits(fmt::format("/proc/{}/limits", pid));
  for (std::string line; std::getline(limits, line);) {
    if (!line.starts_with(kLimit)) continue;
    std::istringstream values(line.substr(kLimit.size()));
    std::string soft;
    values >> soft;
    return soft == "unlimited" || std::strtoull(soft.c_str(), nullptr, 10) >= size;
  }
  return false;
}

/// Read before any thread is stopped.
struct Library {
  Library(pid_t pid, const std::string& file) : path(file), bytes(loadable_part(file)) {
    const auto root = foreign::ProcessRoot::open(pid);
    can_be_copied = may_write(pid, bytes.size());
    can_be_seen = root && root->sees_same(path);
  }
  std::string path;
  std::string bytes;
  bool can_be_copied = false;  ///< Into a file in memory.
  bool can_be_seen = false;    ///< By its path.
};

/// The addresses of the function that takes orders, and of the state that the runtime reports.
struct Entry {
  Address function = 0, said = 0;
};

std::string attach_error_text(int code) {
  switch (code) {
    case base::kBadSettings:
      return "its runtime cannot read the settings";
    case base::kIsRecording:
      return "it is already being recorded, or geiger is switched off in it (see geiger ctl)";
    case base::kNoAllocator:
      return "none of its modules defines malloc";
    case base::kNothingToDo:
      return "it is not being recorded";
    case base::kNoLoaderLock:
      return "its C library has no dl_iterate_phdr";
    default:
      return fmt::format("no trace could be created: {}", std::strerror(code));
  }
}

/// An attachment to one process through one borrowed thread. In a process of its own (apart()).
class Injection {
 public:
  using Work = std::function<base::Outcome<void>(BorrowedThread&)>;

  /// `geiger`: the process that waits for it; if that ends, no thread is borrowed any more.
  Injection(const Order& order, pid_t geiger)
      : pid_(order.pid), geiger_(geiger), memory_(order.pid) {}

  /// Waits for others that attach, then finds the modules and the places that calls need.
  base::Outcome<void> examine(bool despite_seccomp);
  /// Runs `work` on a borrowed thread. Returns how long the thread was stopped.
  base::Outcome<nanoseconds> perform(const Work& work);

  [[nodiscard]] const ProcessFacts& facts() const { return *facts_; }
  [[nodiscard]] Address address_of(const char* name) const;
  /// After loading.
  void look_again() { modules_ = named_modules_of(pid_); }
  [[nodiscard]] std::optional<PresentRuntime> runtime() const { return runtime_in(pid_, modules_); }
  base::Outcome<void> load(BorrowedThread& thread, const Library& library);
  [[nodiscard]] Entry entry_of(const char* name) const;
  base::Outcome<void> call_entry(BorrowedThread& thread, const Entry& entry,
                                 const std::string& text);

 private:
  base::Outcome<void> lock();
  bool find_places();
  base::Outcome<std::optional<nanoseconds>> try_thread(const SafePoints& safe, pid_t tid,
                                                       const Work& work);
  [[nodiscard]] bool are_all_safe(const SafePoints& safe) const;
  base::Outcome<void> open_library(BorrowedThread& thread, const std::string& path,
                                   std::optional<int>* file = nullptr);
  base::Outcome<void> load_copy(BorrowedThread& thread, const Library& library);

  pid_t pid_, geiger_;
  RemoteMemory memory_;
  base::UniqueFd locked_;
  std::optional<ProcessFacts> facts_;
  std::vector<RemoteModule> modules_;
  CallPlaces places_;
  Address kept_stack_ = 0, dlopen_ = 0, older_dlopen_ = 0;
  int tries_ = 0;  ///< Threads stopped to find a safe point.
};

// Two threads at a time would run on the one stack that is kept for this, and what one loads the
// other would not see. The lock is on a file that only those can open who may trace the process.
// It does not reach beyond one mount of /proc.
base::Outcome<void> Injection::lock() {
  locked_ = base::UniqueFd(::open(fmt::format("/proc/{}/mem", pid_).c_str(), O_RDONLY | O_CLOEXEC));
  if (!locked_.is_open()) return {};  // Then it cannot be traced either.
  const auto deadline = Clock::now() + kPatience;
  while (::flock(locked_.get(), LOCK_EX | LOCK_NB) != 0) {
    if (::getppid() != geiger_) return base::Failure{kGeigerEnded};
    if (Clock::now() >= deadline) {
      return base::Failure{fmt::format("another geiger is busy with process {}", pid_)};
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return {};
}

base::Outcome<void> Injection::examine(bool despite_seccomp) {
  GEIGER_TRY(lock());
  facts_ = facts_of(pid_);
  GEIGER_TRY(check_process(pid_, facts_, despite_seccomp));
  GEIGER_TRY(check_not_traced(pid_, *facts_));
  modules_ = modules_of(pid_);
  if (modules_.empty()) return base::Failure{refusal_text(pid_, EPERM)};
  if (first_of(modules_, ModuleKind::kLibc) == nullptr) {
    return base::Failure{fmt::format(
        "process {} does not use glibc: programs that use musl can be started by geiger run",
        pid_)};
  }
  if (!find_places()) {
    return base::Failure{fmt::format("the C library of process {} cannot be read", pid_)};
  }
  if (const auto present = runtime()) kept_stack_ = present->said.stack;
  return {};
}

Address Injection::address_of(const char* name) const {
  for (const RemoteModule& module : modules_) {
    if (module.kind != ModuleKind::kLibc && module.kind != ModuleKind::kLoader) continue;
    if (const auto symbol = find_symbol(memory_, module, name)) return symbol->address;
  }
  return 0;
}

/// Offset of the first `wanted` instructions in code that begins at an instruction; npos if none.
std::size_t find_instructions(const std::string& code, std::string_view wanted) {
  std::size_t found = code.find(wanted);
  while (found != std::string::npos && found % machine::kInstructionBytes != 0) {
    found = code.find(wanted, found + 1);
  }
  return found;
}

bool Injection::find_places() {
  places_.errno_location = address_of("__errno_location");
  dlopen_ = address_of("dlopen");
  if (dlopen_ == 0) older_dlopen_ = address_of("__libc_dlopen_mode");
  const RemoteModule* loader = first_of(modules_, ModuleKind::kLoader);
  if (loader == nullptr) return false;
  if (const auto global = find_symbol(memory_, *loader, "_rtld_global")) {
    places_.loader_begin = global->address;
    places_.loader_end = global->address + global->bytes;
  }
  // Since 2.34 libpthread and libdl are empty, but still there for old programs.
  for (const RemoteModule& module : modules_) {
    if (module.kind != ModuleKind::kLibc) continue;
    for (const CodeRange& code : module.code) {
      std::string bytes(code.end - code.begin, '\0');
      bytes.resize(memory_.read_some(code.begin, bytes.data(), bytes.size()));
      const auto at = find_instructions(bytes, machine::kSystemCall);
      if (at == std::string::npos) continue;
      places_.syscall_instruction = code.begin + at;
      const auto returns = find_instructions(bytes, machine::kSystemCallAndReturn);
      if (returns != std::string::npos) places_.syscall_and_return = code.begin + returns;
      return places_.errno_location != 0;
    }
  }
  return false;
}

/// How long the thread was stopped; nothing if it is at no safe point.
base::Outcome<std::optional<nanoseconds>> Injection::try_thread(const SafePoints& safe, pid_t tid,
                                                                const Work& work) {
  constexpr std::optional<nanoseconds> kTryAgain;
  BorrowedThread thread(pid_, tid);
  ++tries_;
  if (const int error = thread.seize(); error != 0) {
    // An ending thread cannot be traced: the kernel answers EPERM until it is gone.
    const bool is_gone = error == ESRCH || (error == EPERM && has_ended(tid));
    if (is_gone && facts_of(pid_).has_value()) return kTryAgain;
    return base::Failure{refusal_text(pid_, error)};
  }
  // The instruction of an interrupted system call cannot make ours: the kernel would take it for
  // the interrupted one.
  const std::uint64_t pc = machine::pc(thread.registers());
  const bool is_at_place = pc == places_.syscall_instruction || pc == places_.syscall_and_return;
  const bool is_safe = machine::is_64_bit(thread.registers()) && !is_at_place &&
                       !thread.is_in_sequence() &&
                       safe.check(tid, thread.registers()) == Safety::kSafe;
  if (!is_safe) return kTryAgain;
  auto done = thread.borrow(places_, kept_stack_);
  if (done.has_value()) done = work(thread);
  thread.release();
  GEIGER_TRY(std::move(done).with_prefix(fmt::format("process {}: ", pid_)));
  return std::optional(thread.stopped_for());
}

/// For a process stopped by a signal: its threads stay where they are.
bool Injection::are_all_safe(const SafePoints& safe) const {
  return std::ranges::all_of(threads_of(pid_), [&](pid_t tid) {
    BorrowedThread thread(pid_, tid);
    return thread.seize() == 0 && safe.check(tid, thread.registers()) == Safety::kSafe;
  });
}

/// Raises our own priority while a thread is stopped for us, if permitted.
class RaisedPriority {
 public:
  RaisedPriority() : before_(getpriority(PRIO_PROCESS, 0)) { setpriority(PRIO_PROCESS, 0, -20); }
  RaisedPriority(const RaisedPriority&) = delete;
  RaisedPriority& operator=(const RaisedPriority&) = delete;
  ~RaisedPriority() { setpriority(PRIO_PROCESS, 0, before_); }

 private:
  int before_;
};

base::Outcome<nanoseconds> Injection::perform(const Work& work) {
  const RaisedPriority raised;
  const auto deadline = Clock::now() + kPatience;
  microseconds pause{200};
  while (Clock::now() < deadline) {
    const SafePoints safe(pid_, modules_);
    const auto now = facts_of(pid_);
    if (!now || now->start != facts_->start) return base::Failure{refusal_text(pid_, ESRCH)};
    if (now->state == 'T' && !are_all_safe(safe)) {
      return base::Failure{
          fmt::format("process {} is stopped inside its allocator or loader; continue "
                      "it (kill -CONT {}) first",
                      pid_, pid_)};
    }
    for (int i = 0; i < kTriesPerLook && Clock::now() < deadline;) {
      const std::vector<pid_t> threads = threads_by_rank(pid_);
      if (threads.empty()) return base::Failure{refusal_text(pid_, ESRCH)};
      for (const pid_t tid : threads) {
        ++i;
        if (::getppid() != geiger_) return base::Failure{kGeigerEnded};
        if (const auto stopped = GEIGER_TRY(try_thread(safe, tid, work))) return *stopped;
        std::this_thread::sleep_for(pause);
      }
    }
    pause = std::min(pause * 2, microseconds(5000));
    modules_ = modules_of(pid_);
  }
  return base::Failure{
      fmt::format("process {} reached no safe point in {} tries: it is busy in its "
                  "allocator, or its stacks cannot be walked",
                  pid_, tries_)};
}

base::Outcome<void> Injection::open_library(BorrowedThread& thread, const std::string& path,
                                            std::optional<int>* file) {
  constexpr Address kFromLibc = 0x80000000;  // Required by __libc_dlopen_mode.
  const auto text = thread.place_text(path);
  if (dlopen_ == 0 && older_dlopen_ == 0) return base::Failure{"it has no dlopen"};
  if (!text) return base::Failure{kUnwritable};
  const auto map =
      GEIGER_TRY(thread.call(dlopen_ != 0 ? dlopen_ : older_dlopen_,
                             {*text, RTLD_NOW | (dlopen_ != 0 ? 0 : kFromLibc)}, file));
  if (map != 0) return {};
  const Address dlerror = address_of("dlerror");
  Address error = 0;
  if (dlerror != 0) {
    if (const auto at = thread.call(dlerror, {}); at.has_value()) error = at.value();
  }
  return base::Failure{"its dynamic loader refuses the library: " +
                       (error != 0 ? memory_.text(error) : "no reason given")};
}

// Into a file in memory, which the process has open for a moment.
base::Outcome<void> Injection::load_copy(BorrowedThread& thread, const Library& library) {
  const auto name = thread.place_text("geiger");
  if (library.bytes.empty() || !name) {
    return base::Failure{fmt::format("{} cannot be read", library.path)};
  }
  const auto fd = thread.system_call(SYS_memfd_create, {*name, MFD_CLOEXEC});
  if (!fd) return base::Failure{"it ended in the meantime"};
  if (*fd < 0) {
    return base::Failure{fmt::format("memfd_create: {}", std::strerror(static_cast<int>(-*fd)))};
  }
  std::optional file(static_cast<int>(*fd));
  base::Outcome<void> opened = base::Failure{"the library cannot be copied into it"};
  if (thread.write_to(*file, library.bytes) &&
      thread.system_call(SYS_lseek, {static_cast<Address>(*file), 0, SEEK_SET}) == 0) {
    // The odd spelling distinguishes it from files that the program opens itself.
    opened = open_library(thread, fmt::format("/proc/./self/fd/{}", *fd), &file);
  }
  if (file) static_cast<void>(thread.system_call(SYS_close, {static_cast<Address>(*file)}));
  return opened;
}

base::Outcome<void> Injection::load(BorrowedThread& thread, const Library& library) {
  base::Outcome<void> loaded = base::Failure{fmt::format(
      "its file size limit is below {} bytes, and it does not see {}: raise the limit by prlimit "
      "--fsize={} --pid {}",
      library.bytes.size(), library.path, library.bytes.size(), pid_)};
  if (library.can_be_copied) loaded = load_copy(thread, library);
  if (!loaded.has_value() && library.can_be_seen) loaded = open_library(thread, library.path);
  return loaded;
}

Entry Injection::entry_of(const char* name) const {
  const RemoteModule* runtime = first_of(modules_, ModuleKind::kRuntime);
  if (runtime == nullptr) return {};
  const auto function = find_symbol(memory_, *runtime, name);
  const auto said = find_symbol(memory_, *runtime, base::kAttachmentObject);
  return function && said ? Entry{function->address, said->address} : Entry{};
}

base::Outcome<void> Injection::call_entry(BorrowedThread& thread, const Entry& entry,
                                          const std::string& text) {
  if (entry.function == 0) {
    return base::Failure{"its runtime has no such function (another version of geiger)"};
  }
  if (kept_stack_ == 0) {
    const Address stack = thread.keep_stack();
    static_cast<void>(
        memory_.write(entry.said + offsetof(base::Attachment, stack), &stack, sizeof stack));
  }
  const auto argument = thread.place_text(text);
  if (!argument) return base::Failure{kUnwritable};
  const int result = static_cast<int>(GEIGER_TRY(thread.call(entry.function, {*argument})));
  if (result != 0) return base::Failure{attach_error_text(result)};
  return {};
}

/// What ends geiger shall not end this process, while it borrows a thread: that would go on with
/// our registers.
void outlive_geiger() {
  ::setsid();
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE}) ::signal(signal, SIG_IGN);
}

/// Waits for it; false if it never came.
template <class Answer>
bool read_answer(const base::UniqueFd& from, Answer& answer) {
  ssize_t got = 0;
  do {
    got = ::read(from.get(), &answer, sizeof answer);
  } while (got < 0 && errno == EINTR);
  return got == ssize_t{sizeof answer};
}

/// Does `work` in a process of its own. Returns what that does: how long a thread was stopped.
base::Outcome<nanoseconds> apart(const std::function<base::Outcome<nanoseconds>(pid_t)>& work) {
  struct Answer {
    char reason[1024];
    nanoseconds::rep stopped;
  };
  std::array<int, 2> said{};
  if (::pipe2(said.data(), O_CLOEXEC) != 0) return base::Failure{std::strerror(errno)};
  const base::UniqueFd answers(said[0]);
  base::UniqueFd says(said[1]);
  const pid_t geiger = ::getpid();
  const pid_t worker = ::fork();
  if (worker < 0) return base::Failure{std::strerror(errno)};
  Answer answer{};
  if (worker == 0) {
    outlive_geiger();
    const auto done = work(geiger);
    if (done.has_value()) answer.stopped = done.value().count();
    if (!done.has_value()) done.reason().copy(answer.reason, sizeof answer.reason - 1);
    static_cast<void>(!::write(says.get(), &answer, sizeof answer));
    ::_exit(0);
  }
  says.reset();
  const bool is_answered = read_answer(answers, answer);
  while (::waitpid(worker, nullptr, 0) < 0 && errno == EINTR) continue;
  if (!is_answered) return base::Failure{"the process of geiger that attaches has ended"};
  if (answer.reason[0] != '\0') return base::Failure{answer.reason};
  return nanoseconds(answer.stopped);
}

/// Makes a request of a loaded runtime.
base::Outcome<nanoseconds> request(const Order& order, pid_t geiger, const char* entry) {
  Injection injection(order, geiger);
  GEIGER_TRY(injection.examine(order.despite_seccomp));
  const auto present = injection.runtime();
  const bool is_attached =
      present && present->said.state == static_cast<std::uint32_t>(base::AttachState::kAttached);
  if (!is_attached) {
    return base::Failure{fmt::format("geiger is not attached to process {}", order.pid)};
  }
  const Entry found = injection.entry_of(entry);
  return injection.perform(
      [&](BorrowedThread& thread) { return injection.call_entry(thread, found, ""); });
}

base::Outcome<void> request_apart(const Order& order, const char* entry) {
  GEIGER_TRY(apart([&](pid_t geiger) { return request(order, geiger, entry); }));
  return {};
}

/// Fails if the process is one that orphans become children of.
base::Outcome<void> check_reaper(pid_t pid, BorrowedThread& thread, const RemoteMemory& memory) {
  const auto word = thread.place_text(std::string(sizeof(int), '\1'));
  const bool is_asked = word && thread.system_call(SYS_prctl, {PR_GET_CHILD_SUBREAPER, *word}) == 0;
  if (is_asked && memory.get<int>(*word) == 0) return {};
  return base::Failure{
      fmt::format("process {} takes over orphans of others: the copy would be its child", pid)};
}

}  // namespace

namespace {

/// What a keeper says of the copy that it made; a failure has a reason.
struct Answer {
  char reason[1024];
  pid_t copy, thread;
  std::uint64_t begun, done, stack_pointer;
  bool was_only_thread;
  user_regs_struct registers;
};

base::Outcome<void> make_copy(const Order& order, pid_t geiger, Answer& answer) {
  GEIGER_TRY(check_room(order.pid));
  Injection injection(order, geiger);
  GEIGER_TRY(injection.examine(false));
  GEIGER_TRY(check_company(order.pid, injection.facts()));
  const Address exit = injection.address_of("_exit");
  const RemoteMemory memory(order.pid);
  const auto copy = [&](BorrowedThread& thread) -> base::Outcome<void> {
    GEIGER_TRY(check_reaper(order.pid, thread, memory));
    answer.was_only_thread = threads_of(order.pid).size() == 1;
    answer.begun = base::monotonic_now();
    answer.copy = GEIGER_TRY(thread.copy_memory(exit));
    answer.done = base::monotonic_now();
    answer.registers = thread.registers();
    answer.thread = thread.tid();
    answer.stack_pointer = machine::sp(answer.registers);
    return {};
  };
  GEIGER_TRY(injection.perform(copy));
  return {};
}

/// Makes a copy, which ends with this process, and waits until `life` ends.
[[noreturn]] void keep_copy(const Order& order, pid_t parent, int said, int life) {
  outlive_geiger();
  Answer answer{};
  const auto made = make_copy(order, parent, answer);
  if (!made.has_value()) made.reason().copy(answer.reason, sizeof answer.reason - 1);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // From here on; others of ours may hold `life` open, too.
  if (::getppid() != parent) ::_exit(0);
  static_cast<void>(!::write(said, &answer, sizeof answer));
  char byte = 0;
  while (::read(life, &byte, 1) < 0 && errno == EINTR) continue;
  ::_exit(0);
}

}  // namespace

MemoryCopy::~MemoryCopy() {
  life_.reset();
  waitpid(keeper_, nullptr, 0);
}

base::Outcome<Copied> copy_memory(const Order& order) {
  std::array<int, 2> said{}, life{};
  if (::pipe2(said.data(), O_CLOEXEC) != 0) return base::Failure{std::strerror(errno)};
  const base::UniqueFd answers(said[0]);
  base::UniqueFd says(said[1]);
  if (::pipe2(life.data(), O_CLOEXEC) != 0) return base::Failure{std::strerror(errno)};
  base::UniqueFd ends(life[0]), lives(life[1]);
  const pid_t parent = ::getpid();
  const pid_t keeper = ::fork();
  if (keeper < 0) return base::Failure{std::strerror(errno)};
  if (keeper == 0) {
    lives.reset();
    keep_copy(order, parent, says.get(), ends.get());
  }
  says.reset();
  ends.reset();
  Copied copied;
  copied.copy = std::make_shared<MemoryCopy>(keeper, std::move(lives));
  Answer answer{};
  if (!read_answer(answers, answer)) {
    return base::Failure{"the process that was to keep the copy has ended"};
  }
  if (answer.reason[0] != '\0') return base::Failure{answer.reason};
  copied.pid = answer.copy;
  copied.begun = answer.begun;
  copied.done = answer.done;
  copied.thread = answer.thread;
  copied.stack_pointer = answer.stack_pointer;
  copied.registers.resize(sizeof answer.registers / 8);
  std::memcpy(copied.registers.data(), &answer.registers, copied.registers.size() * 8);
  copied.was_only_thread = answer.was_only_thread;
  return copied;
}

namespace {

base::Outcome<nanoseconds> attach_from(pid_t geiger, const Order& order, const std::string& library,
                                       const std::string& settings) {
  Injection injection(order, geiger);
  GEIGER_TRY(injection.examine(order.despite_seccomp));
  const auto present = injection.runtime();
  GEIGER_TRY(check_not_recorded(order.pid, present));
  std::optional<Library> file;
  if (!present) file.emplace(order.pid, library);
  const Entry known = injection.entry_of(base::kAttachEntry);
  return injection.perform([&](BorrowedThread& thread) -> base::Outcome<void> {
    if (present) return injection.call_entry(thread, known, settings);
    GEIGER_TRY(injection.load(thread, *file));
    injection.look_again();
    return injection.call_entry(thread, injection.entry_of(base::kAttachEntry), settings);
  });
}

}  // namespace

base::Outcome<nanoseconds> attach(const Order& order, const std::string& library,
                                  const std::string& settings) {
  return apart([&](pid_t geiger) { return attach_from(geiger, order, library, settings); });
}

base::Outcome<void> follow(const Order& order) { return request_apart(order, base::kFollowEntry); }

base::Outcome<void> detach(const Order& order) { return request_apart(order, base::kDetachEntry); }

}  // namespace geiger::inject
