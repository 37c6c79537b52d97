// Loops over CPython's small objects, for counting instructions: python/loops.py loads this into an
// interpreter.
#include <dlfcn.h>

#include <cstddef>
#include <cstring>

namespace {

template <typename Function>
Function* find(const char* domain, const char* name) {
  char symbol[64];
  std::strcat(std::strcpy(symbol, domain), name);
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, symbol));
}

constexpr std::size_t kSize = 64;

struct Functions {
  explicit Functions(const char* domain)
      : malloc(find<void*(std::size_t)>(domain, "_Malloc")),
        calloc(find<void*(std::size_t, std::size_t)>(domain, "_Calloc")),
        realloc(find<void*(void*, std::size_t)>(domain, "_Realloc")),
        free(find<void(void*)>(domain, "_Free")) {}
  void* (*malloc)(std::size_t);
  void* (*calloc)(std::size_t, std::size_t);
  void* (*realloc)(void*, std::size_t);
  void (*free)(void*);
};

/// Leaves pools that are neither full nor empty, whatever the interpreter allocated before: at
/// those edges pymalloc takes more instructions.
void break_up_pools(const Functions& functions, std::size_t size) {
  constexpr int kBlocks = 300;
  static void* blocks[kBlocks];
  for (void*& block : blocks) block = functions.malloc(size);
  for (int i = 0; i < kBlocks; i += 3) functions.free(blocks[i]);
}

void run(const Functions& functions, const char* loop, long count) {
  for (long i = 0; i < count; ++i) {
    if (std::strcmp(loop, "calloc+free") == 0) {
      functions.free(functions.calloc(1, kSize));
    } else if (std::strcmp(loop, "malloc+realloc+free") == 0) {
      functions.free(functions.realloc(functions.malloc(kSize), 2 * kSize));
    } else {
      functions.free(functions.malloc(kSize));
    }
  }
}

}  // namespace

extern "C" [[gnu::noinline]] void counted_loop(const Functions& functions, const char* loop,
                                               long count) {
  run(functions, loop, count);
  asm volatile("");  // No tail call, for the function ends where the counting does.
}

/// `domain` is PyObject or PyMem. Each block is freed at once. Runs twice `count` times, the second
/// half in counted_loop().
extern "C" void python_loop(const char* domain, const char* loop, long count) {
  const Functions functions(domain);
  break_up_pools(functions, kSize);
  break_up_pools(functions, 2 * kSize);
  run(functions, loop, count);
  counted_loop(functions, loop, count);
}
