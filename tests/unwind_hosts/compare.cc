// A library to preload: at random mallocs it walks the stack with ours and with
// libgcc's unwinder and counts equal, different and truncated chains.
//
//   GEIGER_COMPARE_OUTPUT   prefix; counts go to PREFIX.PID at exit
//   GEIGER_COMPARE_EVERY    mean mallocs between comparisons, default 10
//
// oracle.h says what equal means.
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "oracle.h"

extern "C" void* __libc_malloc(std::size_t bytes);

namespace {

using geiger::unwind::Chain;
using geiger::unwind::Registers;

constexpr unsigned kExamples = 8;

struct Counts {
  std::atomic<unsigned long> compared, different, truncated, unstable;
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

void print_line(const char* line) {
  const std::size_t length = std::strlen(line);
  const std::size_t at = g_text_bytes.fetch_add(length);
  if (at + length < sizeof g_text) std::memcpy(g_text + at, line, length);
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
  if (bytes > 0) print_line(line);
}

void explain(const Chain& own, const Chain& libgcc) {
  if (g_examples.fetch_add(1) >= kExamples) return;
  std::size_t equal = 0;
  while (equal < own.count && equal < libgcc.count && own.frames[equal] == libgcc.frames[equal]) {
    ++equal;
  }
  print_line(own.truncated ? " ours, truncated\n" : " ours\n");
  const std::size_t from = equal < 3 ? 0 : equal - 3;
  for (std::size_t i = from; i < own.count && i < equal + 3; ++i) print_frame(own.frames[i]);
  print_line(" libgcc\n");
  for (std::size_t i = from; i < libgcc.count && i < equal + 3; ++i) print_frame(libgcc.frames[i]);
}

[[gnu::noinline]] void compare(const Registers& start) {
  geiger::unwind::ask_libgcc(start.ip, t_libgcc);
  const geiger::unwind::StackBounds bounds = geiger::unwind::bounds_here(start.sp);
  const std::uint64_t cold_hash = walk_into(start, bounds, t_own);
  const std::uint64_t hash = walk_into(start, bounds, t_own);

  geiger::unwind::cut_behind_stub(t_own, t_libgcc);
  const bool is_equal = t_own == t_libgcc;
  ++g_counts.compared;
  if (!is_equal) ++g_counts.different;
  if (t_own.truncated) ++g_counts.truncated;
  if (hash != cold_hash) ++g_counts.unstable;
  if (!is_equal || t_own.truncated) explain(t_own, t_libgcc);
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
                             g_counts.unstable.load(), geiger::unwind::modules_known());
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
