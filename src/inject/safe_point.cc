#include "inject/safe_point.h"

#include <elfutils/libdwfl.h>
#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "foreign/process_root.h"
#include "inject/machine.h"

namespace geiger::inject {
namespace {

/// A longer walk would keep the thread stopped for too long.
constexpr std::size_t kMostFrames = 512;

/// Bytes of a stack that are read at once.
constexpr std::size_t kStackSnapshot = std::size_t{256} << 10;

// Sorted. They hold no lock of the loader or the allocator while they wait; functions that they may
// call (malloc at the first use of a stream) are not in this list.
constexpr auto kWaiting = std::to_array<std::string_view>({
    "_IO_default_uflow",
    "_IO_fgets",
    "_IO_getc",
    "_IO_getline",
    "_IO_getline_info",
    "__clone",
    "__libc_start_main",
    "__nanosleep",
    "__poll",
    "__read",
    "__select",
    "__uflow",
    "__underflow",
    "__write",
    "accept",
    "accept4",
    "clock_nanosleep",
    "clone",
    "cnd_timedwait",
    "cnd_wait",
    "connect",
    "copy_file_range",
    "epoll_pwait",
    "epoll_pwait2",
    "epoll_wait",
    "eventfd_read",
    "fallocate",
    "fcntl",
    "fdatasync",
    "fgetc",
    "fgets",
    "flock",
    "fread",
    "fsync",
    "futimens",
    "getc",
    "getchar",
    "getrandom",
    "ioctl",
    "lockf",
    "mq_timedreceive",
    "msgrcv",
    "msgsnd",
    "mtx_lock",
    "nanosleep",
    "open",
    "open64",
    "openat",
    "openat64",
    "pause",
    "poll",
    "ppoll",
    "pread",
    "pread64",
    "preadv",
    "preadv2",
    "pselect",
    "pthread_clockjoin_np",
    "pthread_cond_clockwait",
    "pthread_cond_timedwait",
    "pthread_cond_wait",
    "pthread_join",
    "pthread_mutex_lock",
    "pthread_rwlock_rdlock",
    "pthread_rwlock_wrlock",
    "pthread_timedjoin_np",
    "pwrite",
    "pwrite64",
    "pwritev",
    "pwritev2",
    "read",
    "readv",
    "recv",
    "recvfrom",
    "recvmmsg",
    "recvmsg",
    "sched_yield",
    "select",
    "sem_clockwait",
    "sem_timedwait",
    "sem_wait",
    "semop",
    "semtimedop",
    "send",
    "sendfile",
    "sendfile64",
    "sendmsg",
    "sendto",
    "sigsuspend",
    "sigtimedwait",
    "sigwait",
    "sigwaitinfo",
    "sleep",
    "splice",
    "syscall",
    "thrd_join",
    "thrd_sleep",
    "usleep",
    "wait",
    "wait3",
    "wait4",
    "waitid",
    "waitpid",
    "write",
    "writev",
});
static_assert(std::ranges::is_sorted(kWaiting));

/// Frames [begin, end) of libc that the program called, leaf first.
bool is_waiting_call(const FrameFacts* begin, const FrameFacts* end) {
  return (end - 1)->only_waits && std::all_of(begin, end, [](const FrameFacts& frame) {
           return !frame.has_name || frame.only_waits;
         });
}

/// Whether the frames [begin, end) are a thread's first ones.
bool is_start(const FrameFacts* begin, const FrameFacts* end) {
  constexpr std::ptrdiff_t kMostStarting = 3;
  return end - begin <= kMostStarting && std::all_of(begin, end, [](const FrameFacts& frame) {
           return !frame.has_name || frame.only_waits;
         });
}

/// The end of the frames to be judged: before the runtime's frame in which a recorded program's
/// thread starts, next to libc's, else the walk's end. What that frame called is the program's.
const FrameFacts* end_of_program(const FrameFacts* begin, const FrameFacts* end) {
  const FrameFacts* start = end;
  while (start != begin && (start - 1)->kind == ModuleKind::kLibc) --start;
  const bool has_trampoline = start - begin >= 2 && start != end && is_start(start, end) &&
                              (start - 1)->kind == ModuleKind::kRuntime;
  return has_trampoline ? start - 1 : end;
}

bool is_forbidden(ModuleKind kind) {
  return kind == ModuleKind::kLoader || kind == ModuleKind::kAllocator ||
         kind == ModuleKind::kRuntime;
}

}  // namespace

bool only_waits(std::string_view function) {
  return std::ranges::binary_search(kWaiting, function) || function.starts_with("_IO_file_");
}

Safety judge(const std::vector<FrameFacts>& frames) {
  if (frames.empty()) return Safety::kUnknown;
  const auto is_bad = [](const FrameFacts& frame) { return is_forbidden(frame.kind); };
  const FrameFacts* const outermost = frames.data() + frames.size();
  const FrameFacts* const end = end_of_program(frames.data(), outermost);
  if (std::any_of(frames.data(), end, is_bad)) return Safety::kBusy;
  const auto is_libc = [](const FrameFacts& frame) { return frame.kind == ModuleKind::kLibc; };
  for (const FrameFacts* at = frames.data(); at != end;) {
    const FrameFacts* const begin = std::find_if(at, end, is_libc);
    if (begin == end) break;
    at = std::find_if_not(begin, end, is_libc);
    const bool is_outermost = at == outermost && begin != frames.data();
    if (!(is_outermost ? is_start(begin, at) : is_waiting_call(begin, at))) return Safety::kBusy;
  }
  return Safety::kSafe;
}

/// libdw over the memory of a process whose thread the caller has stopped.
struct SafePoints::Walker {
  Walker(pid_t process, const std::vector<RemoteModule>& known)
      : root(foreign::ProcessRoot::open(process)), modules(known), memory(process) {
    callbacks.find_elf = find_elf;
    callbacks.find_debuginfo = find_no_debug_file;
    dwfl = dwfl_begin(&callbacks);
    if (dwfl == nullptr) return;
    current = this;
    // Only modules with code: in every other mapped file, traces among them, libdw would look for
    // an ELF header.
    dwfl_report_begin(dwfl);
    for (const RemoteModule& module : modules) {
      dwfl_report_module(dwfl, module.path.c_str(), module.base, module.end);
    }
    if (dwfl_report_end(dwfl, nullptr, nullptr) != 0) return;
    dwfl_getmodules(dwfl, read_tables, nullptr, 0);
    is_ready = dwfl_attach_state(dwfl, nullptr, process, &kThreads, this);
  }
  ~Walker() {
    if (dwfl != nullptr) dwfl_end(dwfl);
  }
  Walker(const Walker&) = delete;
  Walker& operator=(const Walker&) = delete;

  /// The file of the module at `base`; closed if we cannot open it.
  [[nodiscard]] base::UniqueFd open_module(Address base) const {
    const auto module = std::ranges::find(modules, base, &RemoteModule::base);
    if (module == modules.end() || !root) return {};
    return root->open_mapped({module->path, module->device, module->inode, base, module->first_end},
                             O_RDONLY);
  }

  /// Deleted files are read from the process's memory.
  static int find_elf(Dwfl_Module* module, void** user, const char* name, Dwarf_Addr base,
                      char** file, Elf** elf) {
    if (name[0] == '/' && std::strstr(name, " (deleted)") == nullptr) {
      base::UniqueFd opened = current->open_module(base);
      if (opened.is_open()) *file = strdup(name);
      return opened.release();
    }
    return dwfl_linux_proc_find_elf(module, user, name, base, file, elf);
  }
  static int find_no_debug_file(Dwfl_Module* /*module*/, void** /*user*/, const char* /*name*/,
                                Dwarf_Addr /*base*/, const char* /*file*/, const char* /*link*/,
                                GElf_Word /*crc*/, char** /*found*/) {
    return -1;
  }
  static int read_tables(Dwfl_Module* module, void** /*user*/, const char* /*name*/,
                         Dwarf_Addr /*base*/, void* /*argument*/) {
    Dwarf_Addr bias = 0;
    dwfl_module_eh_cfi(module, &bias);
    return DWARF_CB_OK;
  }
  static pid_t next_thread(Dwfl* /*dwfl*/, void* /*self*/, void** /*thread*/) { return 0; }
  static bool get_thread(Dwfl* /*dwfl*/, pid_t /*tid*/, void* self, void** thread) {
    *thread = self;
    return true;
  }
  static bool read_word(Dwfl* /*dwfl*/, Dwarf_Addr at, Dwarf_Word* word, void* self) {
    const auto& walker = *static_cast<Walker*>(self);
    const std::uint64_t offset = at - walker.stack_begin;
    if (at >= walker.stack_begin && offset + sizeof *word <= walker.stack_bytes) {
      std::memcpy(word, walker.stack.data() + offset, sizeof *word);
      return true;
    }
    return walker.memory.read(at, word, sizeof *word);
  }
  static bool set_registers(Dwfl_Thread* thread, void* self) {
    return machine::for_unwinder(thread, static_cast<Walker*>(self)->registers);
  }
  static int add_frame(Dwfl_Frame* frame, void* self) {
    auto& walker = *static_cast<Walker*>(self);
    Dwarf_Addr pc = 0;
    bool is_activation = false;
    if (!dwfl_frame_pc(frame, &pc, &is_activation)) return DWARF_CB_ABORT;
    walker.pcs.push_back(is_activation ? pc : pc - 1);
    return walker.pcs.size() < kMostFrames ? DWARF_CB_OK : DWARF_CB_ABORT;
  }

  /// True: `pcs` reaches the end of the stack.
  bool walk(pid_t tid, const user_regs_struct& from) {
    registers = from;
    pcs.clear();
    stack.resize(kStackSnapshot);
    stack_begin = machine::sp(from);
    stack_bytes = memory.read_some(machine::sp(from), stack.data(), stack.size());
    return is_ready && dwfl_getthread_frames(dwfl, tid, add_frame, this) == 0;
  }

  static constexpr Dwfl_Thread_Callbacks kThreads{next_thread,   get_thread, read_word,
                                                  set_registers, nullptr,    nullptr};
  // libdw passes no argument of ours to find_elf for a process.
  static inline thread_local Walker* current = nullptr;

  std::optional<foreign::ProcessRoot> root;
  const std::vector<RemoteModule>& modules;
  RemoteMemory memory;
  Dwfl_Callbacks callbacks{};
  Dwfl* dwfl = nullptr;
  bool is_ready = false;
  user_regs_struct registers{};
  std::vector<Address> pcs;
  std::vector<char> stack;
  Address stack_begin = 0;
  std::size_t stack_bytes = 0;
};

SafePoints::SafePoints(pid_t pid, const std::vector<RemoteModule>& modules)
    : modules_(modules), walker_(std::make_unique<Walker>(pid, modules_)) {
  const RemoteMemory memory(pid);
  for (const RemoteModule& module : modules) {
    if (module.kind != ModuleKind::kLibc) continue;
    for (const RemoteSymbol& function : functions_of(memory, module)) {
      const bool waits = only_waits(function.name);
      if (!named_.empty() && named_.back().begin == function.address) {
        named_.back().only_waits |= waits;
      } else {
        named_.push_back({function.address, function.address + function.bytes, waits});
      }
    }
  }
  std::ranges::sort(named_, {}, &Named::begin);
}

SafePoints::~SafePoints() = default;

FrameFacts SafePoints::facts_of(Address pc) const {
  const auto holds = [&](const RemoteModule& module) {
    return std::ranges::any_of(module.code, [&](const CodeRange& code) { return code.holds(pc); });
  };
  const auto module = std::ranges::find_if(modules_, holds);
  FrameFacts facts;
  if (module == modules_.end()) return facts;
  facts.kind = module->kind;
  const auto after = std::ranges::upper_bound(named_, pc, {}, &Named::begin);
  if (facts.kind != ModuleKind::kLibc || after == named_.begin()) return facts;
  facts.has_name = pc < std::prev(after)->end;
  facts.only_waits = facts.has_name && std::prev(after)->only_waits;
  return facts;
}

Safety SafePoints::check(pid_t tid, const user_regs_struct& registers) const {
  // A jump: the leaf alone often decides.
  const FrameFacts leaf = facts_of(machine::pc(registers));
  if (is_forbidden(leaf.kind) || (leaf.has_name && !leaf.only_waits)) return Safety::kBusy;
  if (!walker_->walk(tid, registers)) return Safety::kUnknown;
  std::vector<FrameFacts> frames;
  for (const Address pc : walker_->pcs) frames.push_back(facts_of(pc));
  return judge(frames);
}

}  // namespace geiger::inject
