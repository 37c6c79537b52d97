// A service in small whose memory is known: it says on standard output what is live at its end.
//
//   truth [REQUESTS]
//
// Sessions stay and grow all the time, pages are replaced in a full cache, and each request has
// passing strings. The heap is largest at its end.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

std::uint64_t state = 88172645463325252;

std::uint64_t random_number() {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state;
}

[[gnu::noinline]] void* open_session(std::size_t bytes) {
  void* session = std::malloc(bytes);
  asm volatile("" : "+r"(session) : : "memory");  // no tail call: the function is on the stack
  return session;
}

[[gnu::noinline]] void* cache_page(std::size_t bytes) {
  void* page = std::calloc(1, bytes);
  asm volatile("" : "+r"(page) : : "memory");
  return page;
}

[[gnu::noinline]] void parse_request(std::size_t bytes) {
  const std::string text(bytes, 'x');
  asm volatile("" : : "r"(text.data()) : "memory");
}

}  // namespace

int main(int argc, char** argv) {
  constexpr std::size_t kPages = 2000;
  constexpr std::size_t kPageBytes = 8000;
  const long requests = argc > 1 ? std::atol(argv[1]) : 1'000'000;
  std::vector<void*> sessions;
  std::vector<void*> pages(kPages);
  std::size_t session_bytes = 0;
  for (long i = 0; i < requests; ++i) {
    for (int part = 0; part < 8; ++part) parse_request(100 + random_number() % 400);
    if (i % 20 == 0) {
      const std::size_t bytes = 64 + random_number() % 2000;
      session_bytes += bytes;
      sessions.push_back(open_session(bytes));
    }
    if (i % 5 == 0) {
      void*& page = pages[random_number() % kPages];
      std::free(page);
      page = cache_page(kPageBytes);
    }
  }
  std::printf("open_session %zu\n", session_bytes);
}
