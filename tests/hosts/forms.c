/* Every entry point from C, without any C++ library, and how each of them fails.
 *
 *   forms NAME        runs one scenario; forms list prints the names
 *
 * A function that only the runtime has (operator new in a program without C++, free_sized
 * before C23 libraries) is called where it is found; what is printed must not tell. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <threads.h>
#include <unistd.h>

#define EXPECT(condition) \
  if (!(condition)) printf("%s:%d: not so: %s\n", __FILE__, __LINE__, #condition)

enum { kRounds = 200 };
/* Volatile: the compiler knows that no such block can be had. */
static const volatile size_t kHuge = (size_t)1 << 60;
static const volatile size_t kMost = ~(size_t)0;

static void* opaque(void* pointer) {
  __asm__ volatile("" : "+r"(pointer) : : "memory");
  return pointer;
}

typedef void* New(size_t size, size_t alignment_or_tag, const void* tag);
typedef void Delete(void* pointer, size_t size_or_alignment, size_t alignment);

static const char* const kNews[] = {"_Znwm", "_Znam", "_ZnwmRKSt9nothrow_t", "_ZnamRKSt9nothrow_t"};
static const char* const kAlignedNews[] = {
    "_ZnwmSt11align_val_t", "_ZnamSt11align_val_t", "_ZnwmSt11align_val_tRKSt9nothrow_t",
    "_ZnamSt11align_val_tRKSt9nothrow_t"};
static const char* const kDeletes[] = {
    "_ZdlPv", "_ZdaPv", "_ZdlPvm", "_ZdaPvm", "_ZdlPvRKSt9nothrow_t", "_ZdaPvRKSt9nothrow_t",
    "_ZdlPvSt11align_val_t", "_ZdaPvSt11align_val_t", "_ZdlPvmSt11align_val_t",
    "_ZdaPvmSt11align_val_t", "_ZdlPvSt11align_val_tRKSt9nothrow_t",
    "_ZdaPvSt11align_val_tRKSt9nothrow_t"};
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* C cannot throw: null is what is left. */
static void use_news(const char* const* names, size_t count, size_t alignment) {
  for (size_t i = 0; i < count; ++i) {
    New* make = (New*)dlsym(RTLD_DEFAULT, names[i]);
    if (make == NULL) continue;
    EXPECT(make(kHuge, alignment, NULL) == NULL);
    EXPECT(make(kMost, alignment, NULL) == NULL);
    for (int round = 0; round < kRounds; ++round) {
      Delete* end = (Delete*)dlsym(RTLD_DEFAULT, kDeletes[(size_t)round % COUNT(kDeletes)]);
      const size_t size = (size_t)round * 37;
      char* block = make(size, alignment, NULL);
      EXPECT(block != NULL && end != NULL);
      memset(opaque(block), 1, size);
      end(block, size, alignment);
    }
  }
}

static void news(void) {
  use_news(kNews, COUNT(kNews), 0);
  use_news(kAlignedNews, COUNT(kAlignedNews), 64);
  use_news(kAlignedNews, COUNT(kAlignedNews), 1);
}

typedef void FreeSized(void* pointer, size_t size);
typedef void FreeAlignedSized(void* pointer, size_t alignment, size_t size);

static void sized_frees(void) {
  FreeSized* sized = (FreeSized*)dlsym(RTLD_DEFAULT, "free_sized");
  FreeAlignedSized* aligned = (FreeAlignedSized*)dlsym(RTLD_DEFAULT, "free_aligned_sized");
  for (size_t size = 1; size < 20000; size += 101) {
    void* block = opaque(malloc(size));
    if (sized != NULL) sized(block, size);
    if (sized == NULL) free(block);
    block = opaque(aligned_alloc(64, (size + 63) / 64 * 64));
    if (aligned != NULL) aligned(block, 64, (size + 63) / 64 * 64);
    if (aligned == NULL) free(block);
  }
  if (sized != NULL) sized(NULL, 0);
  if (aligned != NULL) aligned(NULL, 64, 0);
}

static void failing_allocations(void) {
  void* out = NULL;
  for (int round = 0; round < kRounds; ++round) {
    EXPECT(opaque(malloc(kHuge)) == NULL && errno == ENOMEM);
    EXPECT(opaque(calloc(kMost, 2)) == NULL);
    EXPECT(opaque(calloc(kHuge, 1)) == NULL);
    EXPECT(opaque(memalign(64, kHuge)) == NULL);
    EXPECT(opaque(aligned_alloc(64, kHuge)) == NULL);
    EXPECT(opaque(valloc(kHuge)) == NULL);
    EXPECT(opaque(pvalloc(kHuge)) == NULL);
    EXPECT(posix_memalign(&out, 3, 100) == EINVAL);
    EXPECT(posix_memalign(&out, 64, kHuge) == ENOMEM);
  }
  EXPECT(out == NULL);
}

/* The old block lives on where its new size cannot be had. */
static void failing_reallocations(void) {
  for (int round = 0; round < kRounds; ++round) {
    char* block = opaque(malloc(10000));
    strcpy(block, "kept");
    EXPECT(opaque(realloc(block, kHuge)) == NULL);
    EXPECT(opaque(reallocarray(block, kMost, 2)) == NULL && errno == ENOMEM);
    EXPECT(opaque(reallocarray(block, kHuge, 1)) == NULL);
    EXPECT(strcmp(block, "kept") == 0);
    block = opaque(reallocarray(block, 5, 1));
    EXPECT(strcmp(block, "kept") == 0);
    block = opaque(reallocarray(block, 300, 300));
    EXPECT(strcmp(block, "kept") == 0);
    EXPECT(opaque(realloc(block, 0)) == NULL);
  }
}

static void* run_posix(void* argument) { return argument; }
static int run_c11(void* argument) { return argument != NULL; }

/* Stacks that are too large for the address space that is left. */
static void failing_threads(void) {
  pthread_t posix;
  thrd_t c11;
  pthread_attr_t attributes;
  int result = 0;
  pthread_attr_init(&attributes);
  EXPECT(pthread_attr_setstacksize(&attributes, kHuge) == 0);
  EXPECT(pthread_create(&posix, &attributes, run_posix, NULL) == EAGAIN);
  pthread_attr_destroy(&attributes);
  const struct rlimit before = {RLIM_INFINITY, RLIM_INFINITY};
  const struct rlimit none = {1 << 20, RLIM_INFINITY};
  EXPECT(setrlimit(RLIMIT_AS, &none) == 0);
  EXPECT(thrd_create(&c11, run_c11, &result) != thrd_success);
  EXPECT(setrlimit(RLIMIT_AS, &before) == 0);
  EXPECT(thrd_create(&c11, run_c11, &result) == thrd_success);
  EXPECT(thrd_join(c11, &result) == thrd_success && result == 1);
}

static void failing_mappings(void) {
  void* const odd = (void*)1;
  EXPECT(mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED);
  EXPECT(munmap(odd, 4096) != 0);
  EXPECT(mremap(odd, 4096, 8192, 0) == MAP_FAILED);
  EXPECT(mprotect(odd, 4096, PROT_READ) != 0);
  EXPECT(sbrk((intptr_t)kHuge) == (void*)-1);
  char* const end = sbrk(0);
  EXPECT(brk(end) == 0 && sbrk(0) == end);
  EXPECT(brk((void*)(kMost / 2)) != 0);
  EXPECT(brk(end + 4096) == 0 && brk(end) == 0 && sbrk(0) == end);
}

/* What prctl and syscall are called for besides what the runtime looks at. */
static void calls_by_number(void) {
  char name[16] = "";
  unsigned action = SECCOMP_RET_ERRNO;
  EXPECT(syscall(SYS_getpid) == getpid());
  EXPECT(syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0);
  EXPECT(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, NULL) != 0);
  EXPECT(prctl(PR_GET_NAME, name) == 0 && strcmp(name, "forms") == 0);
  EXPECT(prctl(PR_SET_TSC, PR_TSC_ENABLE) == 0);
  EXPECT(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL) != 0);
  for (int round = 0; round < 3; ++round) {
    const long child = syscall(SYS_fork);
    if (child == 0) {
      free(opaque(malloc(100000)));
      _exit(7);
    }
    int status = 0;
    EXPECT(waitpid((pid_t)child, &status, 0) == child && WEXITSTATUS(status) == 7);
    free(opaque(malloc(100000)));
  }
}

static const struct {
  const char* name;
  void (*run)(void);
} kScenarios[] = {{"news", news},
                  {"sized_frees", sized_frees},
                  {"failing_allocations", failing_allocations},
                  {"failing_reallocations", failing_reallocations},
                  {"failing_threads", failing_threads},
                  {"failing_mappings", failing_mappings},
                  {"calls_by_number", calls_by_number}};

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const int is_list = strcmp(argv[1], "list") == 0;
  int status = is_list ? 0 : 2;
  for (size_t i = 0; i < COUNT(kScenarios); ++i) {
    if (is_list) puts(kScenarios[i].name);
    if (strcmp(argv[1], kScenarios[i].name) != 0) continue;
    kScenarios[i].run();
    printf("%s: done\n", argv[1]);
    status = 0;
  }
  return status;
}
