// Shared objects that come and go, plugins that bypass the interposer, exceptions
// and jumps across allocating frames, and unwinding from odd places.
#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csetjmp>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "scenario.h"

namespace {

using Allocate = void* (*)(std::size_t);
using Release = void (*)(void*);

/// The plugin lies beside this program.
std::string plugin_path() {
  char path[4096];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
  path[length] = '\0';
  std::string result = path;
  return result.substr(0, result.rfind('/')) + "/libplugin.so";
}

struct Plugin {
  void* handle;
  Allocate allocate;
  Release release;
  explicit Plugin(int flags) : handle(dlopen(plugin_path().c_str(), flags)) {
    EXPECT(handle != nullptr);
    allocate = reinterpret_cast<Allocate>(dlsym(handle, "plugin_allocate"));
    release = reinterpret_cast<Release>(dlsym(handle, "plugin_release"));
  }
  ~Plugin() { dlclose(handle); }
};

void plugins() {
  for (int round = 0; round < 200; ++round) {
    Plugin plugin(RTLD_NOW | RTLD_LOCAL);
    for (int i = 0; i < 50; ++i) plugin.release(plugin.allocate(700));
  }
}

void outlives_plugin() {
  std::vector<void*> blocks;
  for (int round = 0; round < 50; ++round) {
    Plugin plugin(RTLD_NOW);
    for (int i = 0; i < 50; ++i) blocks.push_back(plugin.allocate(700));
  }
  for (void* block : blocks) free(block);
}

void forks_after_plugin() {
  // What the loader kept of the plugin is overwritten; the child lists the modules of its trace.
  {
    Plugin plugin(RTLD_NOW);
    for (int i = 0; i < 500; ++i) plugin.release(plugin.allocate(4000));
  }
  std::vector<void*> blocks;
  for (std::size_t i = 0; i < 3000; ++i) {
    blocks.push_back(opaque(malloc(16 + i % 600 * 2)));
    memset(blocks.back(), 0x41, 16 + i % 600 * 2);
  }
  const pid_t child = fork();
  if (child == 0) {
    for (int i = 0; i < 500; ++i) free(opaque(malloc(4000)));
    _exit(0);
  }
  int status = -1;
  EXPECT(waitpid(child, &status, 0) == child && status == 0);
  for (void* block : blocks) free(block);
}

void deep_binding() {
  // Inside the plugin malloc and free mean the C library's: what one side
  // allocates the other frees, and addresses come back that were never freed.
  Plugin plugin(RTLD_NOW | RTLD_DEEPBIND);
  for (int i = 0; i < 20000; ++i) {
    plugin.release(opaque(malloc(600)));
    free(plugin.allocate(600));
    plugin.release(plugin.allocate(600));
  }
}

void missing() {
  for (int i = 0; i < 100; ++i) {
    EXPECT(dlopen("libdoes-not-exist.so", RTLD_NOW) == nullptr);
    free(opaque(malloc(5000)));
    EXPECT(dlsym(RTLD_DEFAULT, "no_such_symbol") == nullptr);
    EXPECT(dlerror() != nullptr);
  }
}

void other_namespace() {
  // A plugin with a C library of its own: neither its blocks nor its frees are ours.
  for (int round = 0; round < 5; ++round) {
    void* handle = dlmopen(LM_ID_NEWLM, plugin_path().c_str(), RTLD_NOW | RTLD_LOCAL);
    EXPECT(handle != nullptr);
    auto allocate = reinterpret_cast<Allocate>(dlsym(handle, "plugin_allocate"));
    auto release = reinterpret_cast<Release>(dlsym(handle, "plugin_release"));
    for (int i = 0; i < 2000; ++i) {
      release(allocate(600));
      free(opaque(malloc(600)));
    }
    dlclose(handle);
  }
}

std::atomic<bool> is_over{false};

void loads_while_allocating() {
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i)
    threads.emplace_back([] {
      while (!is_over) free(opaque(malloc(900)));
    });
  for (int round = 0; round < 100; ++round) Plugin plugin(RTLD_NOW);
  is_over = true;
  for (std::thread& thread : threads) thread.join();
}

void iterates() {
  // The host allocates inside its own callback, under the loader's lock.
  for (int round = 0; round < 200; ++round)
    dl_iterate_phdr(
        [](dl_phdr_info*, std::size_t, void*) {
          free(opaque(malloc(3000)));
          return 0;
        },
        nullptr);
}

[[gnu::noinline]] int throws(int depth);

int visit_and_allocate(dl_phdr_info*, std::size_t, void*) {
  free(opaque(malloc(3000)));
  return 0;
}

void storm() {
  // Loading, walking the list of modules under its lock, and unwinding, all at once.
  static std::atomic<int> caught{0};
  std::vector<std::thread> threads;
  // With a pause: otherwise it walks the more often the slower the recording makes the other
  // threads.
  threads.emplace_back([] {
    while (!is_over) {
      dl_iterate_phdr(visit_and_allocate, nullptr);
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
  });
  for (int i = 0; i < 2; ++i)
    threads.emplace_back([] {
      for (int round = 0; round < 500; ++round) {
        try {
          throws(round % 20);
        } catch (const std::exception&) {
          ++caught;
        }
      }
    });
  for (int round = 0; round < 150; ++round) {
    Plugin plugin(RTLD_NOW);
    plugin.release(plugin.allocate(4000));
  }
  threads[1].join();
  threads[2].join();
  is_over = true;
  threads[0].join();
  std::printf("caught %d\n", caught.load());
}

[[gnu::noinline]] int throws(int depth) {
  std::string text(static_cast<std::size_t>(100 + depth), 'x');
  if (depth == 0) throw std::runtime_error(text);
  return throws(depth - 1) + static_cast<int>(opaque(text.data())[0]);
}

void exceptions() {
  int caught = 0;
  for (int round = 0; round < 2000; ++round) {
    try {
      throws(round % 30);
    } catch (const std::exception&) {
      ++caught;
    }
  }
  std::printf("caught %d\n", caught);
}

jmp_buf back;

[[gnu::noinline]] void jumps(int depth) {
  void* block = opaque(malloc(400));
  free(block);
  if (depth == 0) longjmp(back, 1);
  if (depth > 0) jumps(depth - 1);
  opaque(block);
}

void long_jumps() {
  static int round;  // static: a jump back would leave an automatic variable undefined
  static int jumped;
  for (round = 0; round < 2000; ++round) {
    if (setjmp(back) == 0) jumps(round % 40);
    ++jumped;
  }
  std::printf("jumped %d\n", jumped);
}

[[gnu::noinline]] std::size_t recurses(int depth) {
  volatile char frame[64];
  frame[0] = static_cast<char>(depth);
  void* block = opaque(malloc(100));
  const std::size_t below = depth == 0 ? 0 : recurses(depth - 1);
  free(block);
  return below + 1 + static_cast<std::size_t>(frame[0] != static_cast<char>(depth));
}

void deep_recursion() { std::printf("depth %zu\n", recurses(20000)); }

void generated_code() {
  // A frame without unwind information: push rbx; mov rbx, rsp; and rsp, -16;
  // mov rax, rdi; mov rdi, rsi; call rax; mov rsp, rbx; pop rbx; ret
  static const unsigned char kCode[] = {0x53, 0x48, 0x89, 0xe3, 0x48, 0x83, 0xe4,
                                        0xf0, 0x48, 0x89, 0xf8, 0x48, 0x89, 0xf7,
                                        0xff, 0xd0, 0x48, 0x89, 0xdc, 0x5b, 0xc3};
  void* page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memcpy(page, kCode, sizeof kCode);
  EXPECT(mprotect(page, 4096, PROT_READ | PROT_EXEC) == 0);
  auto call = reinterpret_cast<void* (*)(Allocate, std::size_t)>(page);
  for (int i = 0; i < 5000; ++i) free(opaque(call(malloc, 1000)));
  munmap(page, 4096);
}

constexpr Scenario kScenarios[] = {
    {"plugins", plugins},
    {"outlives_plugin", outlives_plugin},
    {"forks_after_plugin", forks_after_plugin},
    {"deep_binding", deep_binding},
    {"missing", missing},
    {"other_namespace", other_namespace},
    {"storm", storm},
    {"loads_while_allocating", loads_while_allocating},
    {"iterates", iterates},
    {"exceptions", exceptions},
    {"long_jumps", long_jumps},
    {"deep_recursion", deep_recursion},
    {"generated_code", generated_code},
};

}  // namespace

int main(int argc, char** argv) { return run_scenario(argc, argv, kScenarios); }
