#include "inject/inject.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <optional>
#include <sstream>
#include <string_view>
#include <thread>
#include <vector>

#include "base/attachment.h"
#include "foreign/process_root.h"
#include "inject/borrowed_thread.h"
#include "inject/machine.h"
#include "inject/remote_modules.h"
#include "inject/safe_point.h"
#include "inject/target.h"
#include "inject/thread_order.h"

namespace geiger::inject {
namespace {

using std::chrono::microseconds;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kPatience{10};
constexpr int kTriesPerLook = 50;

/// The library's bytes up to the end of its loaded segments: debug information is not copied.
std::string loadable_part(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(in), {}};
  Elf64_Ehdr header{};
  if (bytes.size() < sizeof header) return {};
  std::memcpy(&header, bytes.data(), sizeof header);
  std::uint64_t end = 0;
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment{};
    const std::uint64_t at = header.e_phoff + i * sizeof segment;
    if (at + sizeof segment > bytes.size()) return {};
    std::memcpy(&segment, bytes.data() + at, sizeof segment);
    if (segment.p_type == PT_LOAD) end = std::max(end, segment.p_offset + segment.p_filesz);
  }
  if (end < sizeof header || end > bytes.size()) return {};
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
    can_be_copied = root && root->has_proc() && may_write(pid, bytes.size());
    can_be_seen = root && root->sees_same(path);
  }
  std::string path;
  std::string bytes;
  bool can_be_copied = false;  ///< Into a file in memory, which the process opens in /proc.
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

/// An attachment to one process through one borrowed thread.
class Injection {
 public:
  explicit Injection(const Order& order) : pid_(order.pid), memory_(order.pid) {
    facts_ = facts_of(pid_);
    outcome_.reason = obstacle_of(pid_, facts_, order.despite_seccomp);
  }

  /// Runs `work` on a borrowed thread.
  Outcome perform(const std::function<std::string(BorrowedThread&)>& work);

  [[nodiscard]] const Outcome& outcome() const { return outcome_; }
  /// After loading.
  void look_again() { modules_ = named_modules_of(pid_); }
  [[nodiscard]] bool is_refused() const { return !outcome_.reason.empty(); }
  Outcome refuse(const std::string& reason) {
    outcome_.reason = reason;
    return outcome_;
  }
  bool look();
  [[nodiscard]] std::optional<PresentRuntime> runtime() const { return runtime_in(pid_, modules_); }
  std::string load(BorrowedThread& thread, const Library& library);
  [[nodiscard]] Entry entry_of(const char* name) const;
  std::string call_entry(BorrowedThread& thread, const Entry& entry, const std::string& text);

 private:
  enum class Taken { kYes, kTryAgain, kRefused };

  [[nodiscard]] Address address_of(const char* name) const;
  bool find_places();
  Taken try_thread(const SafePoints& safe, pid_t tid,
                   const std::function<std::string(BorrowedThread&)>& work);
  [[nodiscard]] bool are_all_safe(const SafePoints& safe) const;
  std::string open_library(BorrowedThread& thread, const std::string& path);
  std::string load_copy(BorrowedThread& thread, const Library& library);

  pid_t pid_;
  RemoteMemory memory_;
  std::optional<ProcessFacts> facts_;
  std::vector<RemoteModule> modules_;
  CallPlaces places_;
  Address kept_stack_ = 0, dlopen_ = 0, older_dlopen_ = 0;
  Outcome outcome_;
};

bool Injection::look() {
  if (is_refused()) return false;
  modules_ = modules_of(pid_);
  if (modules_.empty()) {
    outcome_.reason = refusal_text(pid_, EPERM);
  } else if (first_of(modules_, ModuleKind::kLibc) == nullptr) {
    outcome_.reason = fmt::format(
        "process {} does not use glibc: programs that use musl can be started by geiger run", pid_);
  } else if (!find_places()) {
    outcome_.reason = fmt::format("the C library of process {} cannot be read", pid_);
  }
  if (const auto present = runtime(); present && !is_refused()) kept_stack_ = present->said.stack;
  return !is_refused();
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
  const RemoteModule* libc = first_of(modules_, ModuleKind::kLibc);
  for (const CodeRange& code : libc->code) {
    std::string bytes(code.end - code.begin, '\0');
    bytes.resize(memory_.read_some(code.begin, bytes.data(), bytes.size()));
    const auto at = find_instructions(bytes, machine::kSystemCall);
    if (at == std::string::npos) continue;
    places_.syscall_instruction = code.begin + at;
    const auto returns = find_instructions(bytes, machine::kSystemCallAndReturn);
    if (returns != std::string::npos) places_.syscall_and_return = code.begin + returns;
    return places_.errno_location != 0;
  }
  return false;
}

Injection::Taken Injection::try_thread(const SafePoints& safe, pid_t tid,
                                       const std::function<std::string(BorrowedThread&)>& work) {
  BorrowedThread thread(pid_, tid);
  ++outcome_.tries;
  if (const int error = thread.seize(); error != 0) {
    // An ending thread cannot be traced: the kernel answers EPERM until it is gone.
    const bool is_gone = error == ESRCH || (error == EPERM && has_ended(tid));
    if (is_gone && facts_of(pid_).has_value()) return Taken::kTryAgain;
    outcome_.reason = refusal_text(pid_, error);
    return Taken::kRefused;
  }
  // The instruction of an interrupted system call cannot make ours: the kernel would take it for
  // the interrupted one.
  const std::uint64_t pc = machine::pc(thread.registers());
  const bool is_at_place = pc == places_.syscall_instruction || pc == places_.syscall_and_return;
  const bool is_safe = machine::is_64_bit(thread.registers()) && !is_at_place &&
                       !thread.is_in_sequence() &&
                       safe.check(tid, thread.registers()) == Safety::kSafe;
  if (!is_safe) return Taken::kTryAgain;
  std::string failure = thread.borrow(places_, kept_stack_);
  if (failure.empty()) failure = work(thread);
  thread.release();
  outcome_.stopped = thread.stopped_for();
  outcome_.reason = failure.empty() ? "" : fmt::format("process {}: {}", pid_, failure);
  return failure.empty() ? Taken::kYes : Taken::kRefused;
}

/// For a process stopped by a signal: its threads stay where they are.
bool Injection::are_all_safe(const SafePoints& safe) const {
  return std::ranges::all_of(threads_of(pid_), [&](pid_t tid) {
    BorrowedThread thread(pid_, tid);
    return thread.seize() == 0 && safe.check(tid, thread.registers()) == Safety::kSafe;
  });
}

/// Raises our own priority while a thread is stopped for us, if permitted.
class Hurry {
 public:
  Hurry() : before_(getpriority(PRIO_PROCESS, 0)) { setpriority(PRIO_PROCESS, 0, -20); }
  Hurry(const Hurry&) = delete;
  Hurry& operator=(const Hurry&) = delete;
  ~Hurry() { setpriority(PRIO_PROCESS, 0, before_); }

 private:
  int before_;
};

Outcome Injection::perform(const std::function<std::string(BorrowedThread&)>& work) {
  const Hurry hurry;
  const auto deadline = Clock::now() + kPatience;
  microseconds pause{200};
  while (Clock::now() < deadline) {
    const SafePoints safe(pid_, modules_);
    const auto now = facts_of(pid_);
    if (!now || now->start != facts_->start) return refuse(refusal_text(pid_, ESRCH));
    if (now->state == 'T' && !are_all_safe(safe)) {
      return refuse(
          fmt::format("process {} is stopped inside its allocator or loader; continue "
                      "it (kill -CONT {}) first",
                      pid_, pid_));
    }
    for (int i = 0; i < kTriesPerLook && Clock::now() < deadline;) {
      const std::vector<pid_t> threads = threads_by_rank(pid_);
      if (threads.empty()) return refuse(refusal_text(pid_, ESRCH));
      for (const pid_t tid : threads) {
        ++i;
        if (try_thread(safe, tid, work) != Taken::kTryAgain) return outcome_;
        std::this_thread::sleep_for(pause);
      }
    }
    pause = std::min(pause * 2, microseconds(5000));
    modules_ = modules_of(pid_);
  }
  return refuse(
      fmt::format("process {} reached no safe point in {} tries: it is busy in its "
                  "allocator, or its stacks cannot be walked",
                  pid_, outcome_.tries));
}

std::string Injection::open_library(BorrowedThread& thread, const std::string& path) {
  constexpr Address kFromLibc = 0x80000000;  // Required by __libc_dlopen_mode.
  const auto text = thread.place_text(path);
  if (dlopen_ == 0 && older_dlopen_ == 0) return "it has no dlopen";
  if (!text) return "its memory cannot be written";
  const auto map = thread.call(dlopen_ != 0 ? dlopen_ : older_dlopen_,
                               {*text, RTLD_NOW | (dlopen_ != 0 ? 0 : kFromLibc)});
  if (!map) return thread.failure();
  if (*map != 0) return "";
  const Address dlerror = address_of("dlerror");
  const auto error = dlerror == 0 ? std::nullopt : thread.call(dlerror, {});
  return "its dynamic loader refuses the library: " +
         (error && *error != 0 ? memory_.text(*error) : "no reason given");
}

// Into a file in memory, which the process has open for a moment.
std::string Injection::load_copy(BorrowedThread& thread, const Library& library) {
  const auto name = thread.place_text("geiger");
  if (library.bytes.empty() || !name) return fmt::format("{} cannot be read", library.path);
  const auto fd = thread.system_call(SYS_memfd_create, {*name, MFD_CLOEXEC});
  if (!fd) return "it ended in the meantime";
  if (*fd < 0) {
    return fmt::format("memfd_create: {}", std::strerror(static_cast<int>(-*fd)));
  }
  // The odd spelling distinguishes it from files that the program opens itself.
  std::string failure = thread.write_to(static_cast<int>(*fd), library.bytes)
                            ? open_library(thread, fmt::format("/proc/./self/fd/{}", *fd))
                            : "the library cannot be copied into it";
  static_cast<void>(thread.system_call(SYS_close, {static_cast<Address>(*fd)}));
  return failure;
}

std::string Injection::load(BorrowedThread& thread, const Library& library) {
  std::string failure = fmt::format(
      "it has access to neither {} nor /proc (or may not write so large a file)", library.path);
  if (library.can_be_copied) failure = load_copy(thread, library);
  if (!failure.empty() && library.can_be_seen) failure = open_library(thread, library.path);
  return failure;
}

Entry Injection::entry_of(const char* name) const {
  const RemoteModule* runtime = first_of(modules_, ModuleKind::kRuntime);
  if (runtime == nullptr) return {};
  const auto function = find_symbol(memory_, *runtime, name);
  const auto said = find_symbol(memory_, *runtime, base::kAttachmentObject);
  return function && said ? Entry{function->address, said->address} : Entry{};
}

std::string Injection::call_entry(BorrowedThread& thread, const Entry& entry,
                                  const std::string& text) {
  if (entry.function == 0) return "its runtime has no such function (another version of geiger)";
  if (kept_stack_ == 0) {
    const Address stack = thread.keep_stack();
    static_cast<void>(
        memory_.write(entry.said + offsetof(base::Attachment, stack), &stack, sizeof stack));
  }
  const auto argument = thread.place_text(text);
  if (!argument) return "its memory cannot be written";
  const auto code = thread.call(entry.function, {*argument});
  if (!code) return thread.failure();
  const int result = static_cast<int>(*code);
  return result == 0 ? "" : attach_error_text(result);
}

/// Makes a request of a loaded runtime.
Outcome ask(const Order& order, const char* entry) {
  Injection injection(order);
  if (!injection.look()) return injection.outcome();
  const auto present = injection.runtime();
  const bool is_attached =
      present && present->said.state == static_cast<std::uint32_t>(base::AttachState::kAttached);
  if (!is_attached) {
    return injection.refuse(fmt::format("geiger is not attached to process {}", order.pid));
  }
  const Entry found = injection.entry_of(entry);
  return injection.perform(
      [&](BorrowedThread& thread) { return injection.call_entry(thread, found, ""); });
}

}  // namespace

Outcome attach(const Order& order, const std::string& library, const std::string& settings) {
  Injection injection(order);
  if (!injection.look()) return injection.outcome();
  const auto present = injection.runtime();
  const std::string obstacle = obstacle_of_runtime(order.pid, present);
  if (!obstacle.empty()) return injection.refuse(obstacle);
  std::optional<Library> file;
  if (!present) file.emplace(order.pid, library);
  const Entry known = injection.entry_of(base::kAttachEntry);
  return injection.perform([&](BorrowedThread& thread) {
    if (present) return injection.call_entry(thread, known, settings);
    const std::string failure = injection.load(thread, *file);
    if (!failure.empty()) return failure;
    injection.look_again();
    return injection.call_entry(thread, injection.entry_of(base::kAttachEntry), settings);
  });
}

Outcome follow(const Order& order) { return ask(order, base::kFollowEntry); }

Outcome detach(const Order& order) { return ask(order, base::kDetachEntry); }

}  // namespace geiger::inject
