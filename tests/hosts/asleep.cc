// Allocates when told, and says how much. Commands on standard input, one per line:
//
//   a BYTES SIZE   each thread in turn allocates this many bytes in objects of SIZE, freed at
//                  once but for every eighth
//   f              forks a child that reads on in place of its parent, which waits for it
//   q              exits
//
// Answers each with the bytes that it has asked malloc for since it started (as a child: since
// then), in decimal. What it does besides allocates nothing.
#include <sys/wait.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>

namespace {

std::uint64_t total = 0;

void allocate(std::uint64_t bytes, std::uint64_t size) {
  for (std::uint64_t done = 0; done < bytes; done += size) {
    auto* block = static_cast<volatile char*>(malloc(size));
    block[0] = 1;
    total += size;
    if (done / size % 8 != 0) free(const_cast<char*>(block));
  }
}

/// One other thread, which takes turns with main.
struct Other {
  std::mutex mutex;
  std::condition_variable changed;
  std::uint64_t bytes = 0, size = 0;

  void serve() {
    std::unique_lock lock(mutex);
    for (;;) {
      changed.wait(lock, [this] { return bytes != 0; });
      allocate(bytes, size);
      bytes = 0;
      changed.notify_all();
    }
  }
  void order(std::uint64_t wanted, std::uint64_t object) {
    std::unique_lock lock(mutex);
    size = object;
    bytes = wanted;
    changed.notify_all();
    changed.wait(lock, [this] { return bytes == 0; });
  }
};

bool read_line(char* line, std::size_t room) {
  std::size_t used = 0;
  for (char byte = 0; used + 1 < room && read(0, &byte, 1) == 1;) {
    if (byte == '\n') return line[used] = '\0', true;
    line[used++] = byte;
  }
  return false;
}

void answer() {
  char text[32];
  int length = 0;
  for (std::uint64_t rest = total; length == 0 || rest != 0; rest /= 10) {
    text[sizeof text - 2 - length++] = static_cast<char>('0' + rest % 10);
  }
  text[sizeof text - 1] = '\n';
  if (write(1, text + sizeof text - 1 - length, length + 1) < 0) _exit(1);
}

}  // namespace

int main() {
  static Other other;
  bool has_other = true;
  std::thread([] { other.serve(); }).detach();
  char line[128];
  while (read_line(line, sizeof line)) {
    if (line[0] == 'q') break;
    if (line[0] == 'f') {
      const pid_t child = fork();
      if (child != 0) {
        int status = 0;
        waitpid(child, &status, 0);
        _exit(WEXITSTATUS(status));  // The other thread still waits on what is static.
      }
      total = 0;
      has_other = false;
    }
    if (line[0] == 'a') {
      char* end = nullptr;
      const std::uint64_t bytes = strtoull(line + 1, &end, 10), size = strtoull(end, nullptr, 10);
      allocate(has_other ? bytes / 2 : bytes, size);
      if (has_other) other.order(bytes / 2, size);
    }
    answer();
  }
  _exit(0);
}
