// Programs with one wrong use of memory each, for guard mode. Those that nothing stops say so.
//
//   faulty NAME    the wrong use, again and again, until it is stopped
//   faulty list    the names
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "scenario.h"

namespace {

constexpr int kTimes = 200;
constexpr int kManyTimes = 40'000;
constexpr std::size_t kBytes = 64;
/// No multiple of any alignment: padding lies behind it.
constexpr std::size_t kOddBytes = 20;

[[gnu::noinline]] char* make(std::size_t bytes) {
  char* made = static_cast<char*>(malloc(bytes));
  return opaque(made);
}
[[gnu::noinline]] void drop(char* object) {
  free(object);
  opaque(object);
}
[[gnu::noinline]] void write_to(char* object, long offset) {
  opaque(object)[offset] = 0;
  opaque(object);
}
[[gnu::noinline]] int read_from(char* object, long offset) {
  const int read = opaque(object)[offset];
  asm volatile("" : : "r"(read));
  return read;
}

void writes_at(long offset) {
  for (int i = 0; i < kTimes; ++i) {
    char* object = make(kBytes);
    write_to(object, offset);
    drop(object);
  }
}

void writes_1_behind() { writes_at(kBytes); }
void writes_16_behind() { writes_at(kBytes + 15); }
void writes_1_before() { writes_at(-1); }
void writes_16_before() { writes_at(-16); }

void reads_behind() {
  for (int i = 0; i < kTimes; ++i) {
    char* object = make(kBytes);
    read_from(object, kBytes);
    drop(object);
  }
}

/// Of what any allocator rounds up.
void reads_padding() {
  for (int i = 0; i < kTimes; ++i) {
    char* object = make(kOddBytes);
    read_from(object, kOddBytes);
    drop(object);
  }
}

void reads_freed() {
  for (int i = 0; i < kTimes; ++i) {
    char* object = make(kBytes);
    drop(object);
    read_from(object, 8);
  }
}

void writes_freed() {
  for (int i = 0; i < kTimes; ++i) {
    char* object = make(kBytes);
    drop(object);
    write_to(object, kBytes - 1);
  }
}

void frees_twice() {
  for (int i = 0; i < kTimes; ++i) {
    char* object = make(kBytes);
    drop(object);
    drop(object);
  }
}

void frees_inside() {
  for (int i = 0; i < kTimes; ++i) drop(make(kBytes) + 16);
}

[[gnu::noinline]] char* enlarge(char* object) {
  return opaque(static_cast<char*>(realloc(object, 4 * kBytes)));
}

void uses_reallocated() {
  for (int i = 0; i < kTimes; ++i) {
    char* object = make(kBytes);
    char* larger = enlarge(object);
    read_from(object, 0);
    drop(larger);
  }
}

void freed_by_other_thread() {
  for (int i = 0; i < kTimes; ++i) {
    char* object = make(kBytes);
    std::thread([object] { drop(object); }).join();
    read_from(object, 0);
  }
}

void used_in_child() {
  char* objects[kTimes];
  for (char*& object : objects) object = make(kBytes);
  for (char* object : objects) drop(object);
  const pid_t child = fork();
  if (child == 0) {
    for (char* object : objects) read_from(object, 0);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  std::printf("child: %s\n", WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "exited");
}

[[gnu::noinline]] void copy_name(char* to, const char* name) { strcpy(opaque(to), opaque(name)); }

void copies_text() {
  char name[kBytes + 1];
  memset(name, 'x', kBytes);
  name[kBytes] = '\0';
  for (int i = 0; i < kTimes; ++i) {
    char* object = make(kBytes);
    copy_name(object, name);
    drop(object);
  }
}

alignas(16) char handler_stack[8192];

/// The program's own handler, on the smallest stack that a manual page names.
void handled_by_program() {
  stack_t stack{};
  stack.ss_sp = handler_stack;
  stack.ss_size = sizeof handler_stack;
  sigaltstack(&stack, nullptr);
  struct sigaction action {};
  action.sa_handler = [](int) {
    const char text[] = "handled\n";
    _exit(write(1, text, sizeof text - 1) > 0 ? 7 : 8);
  };
  action.sa_flags = SA_ONSTACK;
  sigaction(SIGSEGV, &action, nullptr);
  reads_freed();
}

struct Session {
  long numbers[5];
};

[[gnu::noinline]] void finish(Session* session) { delete session; }

void deletes_twice() {
  for (int i = 0; i < kTimes; ++i) {
    auto* session = opaque(new Session);
    finish(session);
    finish(opaque(session));
  }
}

void writes_padding_of(int times) {
  for (int i = 0; i < times; ++i) {
    char* object = make(kOddBytes);
    write_to(object, kOddBytes);
    drop(object);
  }
}

/// The write hits nothing: any allocator rounds up.
void writes_padding() { writes_padding_of(kTimes); }
void writes_much_padding() { writes_padding_of(kManyTimes); }

/// Nothing wrong.
void behaves() {
  for (int i = 0; i < kManyTimes; ++i) {
    char* object = make(kBytes);
    write_to(object, 0);
    write_to(object, kBytes - 1);
    if (i % 4 == 0) object = enlarge(object);
    drop(object);
  }
}

}  // namespace

int main(int argc, char** argv) {
  return run_scenario(argc, argv,
                      {{"writes_1_behind", writes_1_behind},
                       {"writes_16_behind", writes_16_behind},
                       {"writes_1_before", writes_1_before},
                       {"writes_16_before", writes_16_before},
                       {"reads_behind", reads_behind},
                       {"reads_padding", reads_padding},
                       {"reads_freed", reads_freed},
                       {"writes_freed", writes_freed},
                       {"frees_twice", frees_twice},
                       {"frees_inside", frees_inside},
                       {"uses_reallocated", uses_reallocated},
                       {"freed_by_other_thread", freed_by_other_thread},
                       {"used_in_child", used_in_child},
                       {"copies_text", copies_text},
                       {"deletes_twice", deletes_twice},
                       {"handled_by_program", handled_by_program},
                       {"writes_padding", writes_padding},
                       {"writes_much_padding", writes_much_padding},
                       {"behaves", behaves}});
}
