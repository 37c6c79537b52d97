// A library to preload: at random mallocs it walks the stack with ours and with
// libgcc's unwinder and counts equal, different and truncated chains.
//
//   GEIGER_COMPARE_OUTPUT   prefix; counts go to PREFIX.PID at exit
//   GEIGER_COMPARE_EVERY    mean mallocs between comparisons, default 10
//
// Normalisation, the whole of it: libgcc reports our own frames first (cut up to
// the return address of malloc) and ends with one ip of 0 when the outermost
// frame has an undefined return address (cut). It reports an interrupted ip as it
// is where ours records ip + 1 (added). All other frames, the outermost one of
// _start or clone3 included, must be equal.
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>
#include <unwind.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "runtime/unwind/unwind.h"

extern "C" {
void* __libc_malloc(std::size_t bytes);
extern void* __libc_stack_end;
}

namespace {

using geiger::unwind::Registers;
using geiger::unwind::StackBounds;
using geiger::unwind::Trace;

constexpr std::size_t kFrames = 1024;
constexpr unsigned kExamples = 8;

struct Chain {
  std::uint64_t frames[kFrames];
  std::size_t count;
};

struct Counts {
  std::atomic<unsigned long> compared, different, truncated, wrong_hash;
};

constinit Counts g_counts{};
constinit std::atomic<unsigned> g_examples{0};
constinit std::atomic<unsigned> g_every{0};
constinit char g_text[1 << 16]{};
constinit std::atomic<std::size_t> g_text_bytes{0};

constinit thread_local bool t_is_comparing __attribute__((tls_model("initial-exec"))) = false;
constinit thread_local unsigned t_skip __attribute__((tls_model("initial-exec"))) = 1;
constinit thread_local unsigned t_seed __attribute__((tls_model("initial-exec"))) = 2463534242U;
constinit thread_local Chain t_libgcc __attribute__((tls_model("initial-exec"))){};
constinit thread_local Chain t_own __attribute__((tls_model("initial-exec"))){};

_Unwind_Reason_Code append(_Unwind_Context* context, void* argument) {
  auto& chain = *static_cast<Chain*>(argument);
  if (chain.count == kFrames) return _URC_END_OF_STACK;
  int is_before_instruction = 0;
  const std::uint64_t ip = _Unwind_GetIPInfo(context, &is_before_instruction);
  chain.frames[chain.count++] = ip + (is_before_instruction != 0 ? 1 : 0);
  return _URC_NO_REASON;
}

void normalise(Chain& chain, std::uint64_t first) {
  std::size_t skipped = 0;
  while (skipped < chain.count && chain.frames[skipped] != first) ++skipped;
  chain.count -= skipped;
  std::memmove(chain.frames, chain.frames + skipped, chain.count * sizeof first);
  while (chain.count > 0 && chain.frames[chain.count - 1] <= 1) --chain.count;
}

void print_frame(std::uint64_t frame) {
  Dl_info info{};
  char line[256];
  const bool is_known = dladdr(reinterpret_cast<void*>(frame - 1), &info) != 0;
  const int bytes = snprintf(
      line, sizeof line, "  %#llx %s+%#llx %s\n", static_cast<unsigned long long>(frame),
      is_known ? info.dli_fname : "?",
      static_cast<unsigned long long>(frame - reinterpret_cast<std::uint64_t>(info.dli_fbase)),
      is_known && info.dli_sname != nullptr ? info.dli_sname : "");
  const std::size_t length =
      std::min<std::size_t>(static_cast<std::size_t>(bytes), sizeof line - 1);
  const std::size_t at = g_text_bytes.fetch_add(length);
  if (at + length < sizeof g_text) std::memcpy(g_text + at, line, length);
}

void explain(const Chain& own, const Chain& libgcc, bool truncated) {
  if (g_examples.fetch_add(1) >= kExamples) return;
  std::size_t equal = 0;
  while (equal < own.count && equal < libgcc.count && own.frames[equal] == libgcc.frames[equal]) {
    ++equal;
  }
  print_frame(truncated ? 0xdead0001 : 0xdead0000);
  const std::size_t from = equal < 3 ? 0 : equal - 3;
  for (std::size_t i = from; i < own.count && i < equal + 3; ++i) print_frame(own.frames[i]);
  print_frame(0xbeef0000);
  for (std::size_t i = from; i < libgcc.count && i < equal + 3; ++i) print_frame(libgcc.frames[i]);
}

StackBounds bounds_here(std::uint64_t sp) {
  std::uint64_t thread_pointer;
  asm("mov %%fs:0, %0" : "=r"(thread_pointer));
  const bool is_main = gettid() == getpid();
  return {sp, is_main ? reinterpret_cast<std::uint64_t>(__libc_stack_end) : thread_pointer};
}

[[gnu::noinline]] void compare(const Registers& start) {
  t_libgcc.count = 0;
  _Unwind_Backtrace(append, &t_libgcc);
  normalise(t_libgcc, start.ip);

  Trace trace{t_own.frames, kFrames};
  walk(start, bounds_here(start.sp), geiger::unwind::Mode::kAuto, trace);
  t_own.count = trace.count;
  const std::uint64_t hash = trace.hash;
  walk(start, bounds_here(start.sp), geiger::unwind::Mode::kAuto, trace);

  const bool is_equal =
      t_own.count == t_libgcc.count &&
      std::memcmp(t_own.frames, t_libgcc.frames, t_own.count * sizeof t_own.frames[0]) == 0;
  ++g_counts.compared;
  if (!is_equal) ++g_counts.different;
  if (trace.truncated) ++g_counts.truncated;
  if (hash != trace.hash || trace.count != t_own.count) ++g_counts.wrong_hash;
  if (!is_equal || trace.truncated) explain(t_own, t_libgcc, trace.truncated);
}

unsigned next_skip() {
  if (g_every == 0) {
    const char* every = getenv("GEIGER_COMPARE_EVERY");
    geiger::unwind::init();
    g_every = every != nullptr ? static_cast<unsigned>(atoi(every)) : 10;
  }
  t_seed ^= t_seed << 13;
  t_seed ^= t_seed >> 17;
  t_seed ^= t_seed << 5;
  return 1 + t_seed % (2 * g_every - 1);
}

__attribute__((destructor)) void write_counts() {
  const char* prefix = getenv("GEIGER_COMPARE_OUTPUT");
  if (prefix == nullptr) return;
  t_is_comparing = true;
  char path[4096];
  char text[512];
  snprintf(path, sizeof path, "%s.%d", prefix, getpid());
  const int bytes = snprintf(text, sizeof text,
                             "program %s\ncompared %lu\ndifferent %lu\ntruncated %lu\n"
                             "unstable %lu\nmodules %u\n",
                             program_invocation_short_name, g_counts.compared.load(),
                             g_counts.different.load(), g_counts.truncated.load(),
                             g_counts.wrong_hash.load(), geiger::unwind::modules_known());
  const int file = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
  const std::size_t more = std::min(g_text_bytes.load(), sizeof g_text - 1);
  const bool is_written = write(file, text, static_cast<std::size_t>(bytes)) == bytes &&
                          write(file, g_text, more) == static_cast<ssize_t>(more);
  close(file);
  if (!is_written) unlink(path);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) void* malloc(std::size_t bytes) {
  if (--t_skip == 0 && !t_is_comparing) [[unlikely]] {
    t_is_comparing = true;
    t_skip = next_skip();
    compare(geiger::unwind::caller_registers());
    t_is_comparing = false;
  }
  return __libc_malloc(bytes);
}
