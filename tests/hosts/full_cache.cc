// A cache that is full before anyone looks: 20,000 entries of 2 KiB, of which each request replaces
// the oldest. Its live bytes stay constant to the byte. Ends with its standard input.
#include <poll.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstring>
#include <deque>
#include <memory>

namespace {

constexpr std::size_t kEntries = 20'000;
constexpr int kRequestsAtOnce = 5;

struct Entry {
  char bytes[2048];
};

std::deque<std::unique_ptr<Entry>> cache;

[[gnu::noinline]] void put() {
  auto entry = std::make_unique<Entry>();
  std::memset(entry->bytes, 1, sizeof entry->bytes);
  cache.push_back(std::move(entry));
}

}  // namespace

int main() {
  for (std::size_t i = 0; i < kEntries; ++i) put();
  std::puts("ready");
  std::fflush(stdout);
  pollfd end{STDIN_FILENO, POLLIN, 0};
  while (poll(&end, 1, 5) == 0) {
    for (int i = 0; i < kRequestsAtOnce; ++i) {
      cache.pop_front();
      put();
    }
  }
  std::puts("done");
  return 0;
}
