// A program that exists in versions: what each of them allocates is known.
//
//   changes VERSION      VERSION = plain | leak | reserve | both
//
// `leak` keeps what remember() allocates, `reserve` lets fill_table() ask for all of its
// memory at once instead of growing. All else is the same. Prints one JSON object: the
// bytes that each function allocates and those still live at the end.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

constexpr std::size_t kBlocks = 8000;
constexpr std::size_t kBlockBytes = 1000;
constexpr std::size_t kRows = 200'000;
constexpr std::size_t kRequests = 20'000;

std::vector<void*> kept;

}  // namespace

// Extern "C", so that the names are the same for every compiler.
extern "C" {

__attribute__((noinline)) std::size_t remember(bool keeps) {
  for (std::size_t i = 0; i < kBlocks; ++i) {
    void* block = malloc(kBlockBytes);
    if (keeps) {
      kept.push_back(block);
    } else {
      free(block);
    }
  }
  return kBlocks * kBlockBytes;
}

// An array of 16 byte rows that doubles like a vector does, or is asked for at once.
__attribute__((noinline)) std::size_t fill_table(bool reserves) {
  constexpr std::size_t kRowBytes = 16;
  std::size_t room = reserves ? kRows : 64;
  std::size_t allocated = room * kRowBytes;
  char* rows = static_cast<char*>(malloc(allocated));
  for (std::size_t used = 0; used < kRows; ++used) {
    if (used == room) {
      room *= 2;
      char* more = static_cast<char*>(malloc(room * kRowBytes));
      allocated += room * kRowBytes;
      memcpy(more, rows, used * kRowBytes);
      free(rows);
      rows = more;
    }
    memset(rows + used * kRowBytes, static_cast<int>(used), kRowBytes);
  }
  free(rows);
  return allocated;
}

__attribute__((noinline)) std::size_t serve() {
  std::size_t allocated = 0;
  for (std::size_t i = 0; i < kRequests; ++i) {
    const std::size_t size = 16 + i * 37 % 900;
    void* volatile request = malloc(size);
    free(request);
    allocated += size;
  }
  return allocated;
}

}  // extern "C"

int main(int argc, char** argv) {
  const std::string version = argc > 1 ? argv[1] : "plain";
  const bool leaks = version == "leak" || version == "both";
  const bool reserves = version == "reserve" || version == "both";
  kept.reserve(kBlocks);
  const std::size_t remembered = remember(leaks);
  const std::size_t filled = fill_table(reserves);
  const std::size_t served = serve();
  std::printf("{\"remember\": %zu, \"fill_table\": %zu, \"serve\": %zu, \"leaked\": %zu}\n",
              remembered, filled, served, leaks ? remembered : 0);
  return 0;
}
