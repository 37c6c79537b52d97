// A preload library that counts every allocation by a trivially correct method:
// each entry point adds to a counter in a shared page and calls the next
// definition. Slow, and the reference for exact totals at interval 1.
//
// EXACT_COUNT_DIR names a directory; each process image writes <pid>.<n>.count:
// two 64-bit numbers per entry point, {calls, bytes}, in the order of Counted.
// What counts is a call that asked for at least one byte and got it. Fork children
// share their parent's page, so sums over a process tree stay right.
//
// operator new is left to libstdc++, which reaches malloc: an allocation is
// counted once.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace {

enum Counted {
  kMalloc,
  kCalloc,
  kRealloc,
  kReallocarray,
  kPosixMemalign,
  kAlignedAlloc,
  kMemalign,
  kValloc,
  kPvalloc,
  kCountedKinds,
};

struct Count {
  std::atomic<std::uint64_t> calls;
  std::atomic<std::uint64_t> bytes;
};

Count* counts = nullptr;
thread_local bool is_resolving __attribute__((tls_model("initial-exec"))) = false;

// What dlsym itself allocates before the next malloc is known; never given back.
alignas(16) char bootstrap[1 << 16];
std::atomic<std::size_t> bootstrap_used{0};

bool is_bootstrap(const void* pointer) {
  auto* at = static_cast<const char*>(pointer);
  return at >= bootstrap && at < bootstrap + sizeof bootstrap;
}

void* bootstrap_allocate(std::size_t size) {
  const std::size_t at = bootstrap_used.fetch_add((size + 31) & ~std::size_t{15});
  return at + size <= sizeof bootstrap ? bootstrap + at : nullptr;
}

void open_page() {
  const char* directory = getenv("EXACT_COUNT_DIR");
  if (directory == nullptr) return;
  const int saved = errno;
  char path[4096];
  int file = -1;
  for (char n = '0'; n <= '9' && file < 0; ++n) {
    char* end = stpcpy(path, directory);
    *end++ = '/';
    char digits[16];
    int length = 0;
    for (unsigned pid = static_cast<unsigned>(getpid()); pid != 0; pid /= 10)
      digits[length++] = static_cast<char>('0' + pid % 10);
    while (length > 0) *end++ = digits[--length];
    *end++ = '.';
    *end++ = n;
    strcpy(end, ".count");
    file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  }
  if (file >= 0 && ftruncate(file, 4096) == 0) {
    void* page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (page != MAP_FAILED) counts = static_cast<Count*>(page);
  }
  if (file >= 0) close(file);
  errno = saved;
}

void count(Counted kind, std::size_t bytes, const void* result) {
  if (result == nullptr || bytes == 0) return;
  static std::atomic<int> opened{0};
  int expected = 0;
  if (opened.compare_exchange_strong(expected, 1)) {
    open_page();
    opened.store(2);
  }
  while (opened.load() == 1) {
  }
  if (counts == nullptr) return;
  counts[kind].calls.fetch_add(1);
  counts[kind].bytes.fetch_add(bytes);
}

template <typename Function>
Function next(const char* name, std::atomic<Function>& slot) {
  Function function = slot.load();
  if (function == nullptr && !is_resolving) {
    is_resolving = true;
    function = reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
    slot.store(function);
    is_resolving = false;
  }
  return function;
}

#define NEXT(name)                              \
  ([] {                                         \
    static std::atomic<decltype(&::name)> slot; \
    return next(#name, slot);                   \
  }())

}  // namespace

extern "C" {

void* malloc(std::size_t size) {
  auto original = NEXT(malloc);
  if (original == nullptr) return bootstrap_allocate(size);
  void* result = original(size);
  count(kMalloc, size, result);
  return result;
}

void* calloc(std::size_t number, std::size_t size) {
  auto original = NEXT(calloc);
  if (original == nullptr) return bootstrap_allocate(number * size);
  void* result = original(number, size);
  count(kCalloc, number * size, result);
  return result;
}

void free(void* pointer) {
  if (pointer == nullptr || is_bootstrap(pointer)) return;
  auto original = NEXT(free);
  if (original != nullptr) original(pointer);
}

void* realloc(void* pointer, std::size_t size) {
  if (is_bootstrap(pointer)) {
    void* moved = malloc(size);
    if (moved != nullptr) memcpy(moved, pointer, size);
    return moved;
  }
  void* result = NEXT(realloc)(pointer, size);
  count(kRealloc, size, result);
  return result;
}

void* reallocarray(void* pointer, std::size_t number, std::size_t size) {
  void* result = NEXT(reallocarray)(pointer, number, size);
  count(kReallocarray, number * size, result);
  return result;
}

int posix_memalign(void** out, std::size_t alignment, std::size_t size) {
  const int error = NEXT(posix_memalign)(out, alignment, size);
  count(kPosixMemalign, size, error == 0 ? *out : nullptr);
  return error;
}

void* aligned_alloc(std::size_t alignment, std::size_t size) {
  void* result = NEXT(aligned_alloc)(alignment, size);
  count(kAlignedAlloc, size, result);
  return result;
}

void* memalign(std::size_t alignment, std::size_t size);
void* memalign(std::size_t alignment, std::size_t size) {
  void* result = NEXT(memalign)(alignment, size);
  count(kMemalign, size, result);
  return result;
}

void* valloc(std::size_t size) {
  void* result = NEXT(valloc)(size);
  count(kValloc, size, result);
  return result;
}

void* pvalloc(std::size_t size);
void* pvalloc(std::size_t size) {
  void* result = NEXT(pvalloc)(size);
  count(kPvalloc, size, result);
  return result;
}

}  // extern "C"
