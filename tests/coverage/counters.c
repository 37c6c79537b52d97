/* Execution counters of the preloaded runtime, for the coverage build alone.

   libgcov would write files when a process exits: with stdio, malloc and locks, inside
   programs that are not ours, and never in one that is killed. Here all counters lie
   in one section (counters.ld) that is replaced, when the library is loaded, by a
   shared mapping of one file. Every process counts there, whatever ends it; what counted
   before is added. Counting is atomic (-fprofile-update=atomic), across processes too.

   A process with GEIGER_COVERAGE_INTO=DIR in its environment writes what the file holds, in
   gcov's format, to DIR/PATH of each unit (tools/coverage.py). */
#include <fcntl.h>
#include <gcov.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { kMostUnits = 256, kPathBytes = 4096 };

extern uint64_t geiger_counters_begin[], geiger_counters_end[];

static const struct gcov_info* units[kMostUnits];
static unsigned unit_count;

/* What every unit calls as it is loaded and unloaded, in place of libgcov's. */
void __gcov_init(const struct gcov_info* unit);
void __gcov_init(const struct gcov_info* unit) {
  if (unit_count < kMostUnits) units[unit_count++] = unit;
}
void __gcov_exit(void);
void __gcov_exit(void) {}
/* Named by every unit for libgcov's merging of files, which happens elsewhere. */
void __gcov_merge_add(int64_t* counters, unsigned count);
void __gcov_merge_add(int64_t* counters, unsigned count) {
  (void)counters;
  (void)count;
}

static size_t counters_bytes(void) {
  return (size_t)((char*)geiger_counters_end - (char*)geiger_counters_begin);
}

static int open_file(void) {
  const int file = open(GEIGER_COUNTERS_FILE, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (file < 0) return -1;
  const off_t size = lseek(file, 0, SEEK_END);
  if (size >= (off_t)counters_bytes() || ftruncate(file, (off_t)counters_bytes()) == 0) return file;
  close(file);
  return -1;
}

/* The names mmap and munmap are this library's own, and lead nowhere yet where it is loaded
   into a running program. Returns -errno where the kernel refuses. */
static long call_kernel(long number, void* address, size_t bytes, long protection, long flags,
                        long file) {
  register long r10 __asm__("r10") = flags;
  register long r8 __asm__("r8") = file;
  register long r9 __asm__("r9") = 0;
  long result;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(address), "S"(bytes), "d"(protection), "r"(r10), "r"(r8),
                     "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
}

static void* map(void* address, size_t bytes, long flags, long file) {
  const long result = call_kernel(SYS_mmap, address, bytes, PROT_READ | PROT_WRITE, flags, file);
  return result < 0 && result >= -4095 ? NULL : (void*)result;
}

static void share_counters(void) {
  const int file = open_file();
  if (file < 0) return;
  const size_t bytes = counters_bytes();
  uint64_t* own = map(NULL, bytes, MAP_PRIVATE | MAP_ANONYMOUS, -1);
  if (own != NULL) {
    memcpy(own, geiger_counters_begin, bytes);
    if (map(geiger_counters_begin, bytes, MAP_SHARED | MAP_FIXED, file) != NULL) {
      for (size_t i = 0; i < bytes / sizeof *own; ++i) {
        if (own[i] != 0) __atomic_fetch_add(&geiger_counters_begin[i], own[i], __ATOMIC_RELAXED);
      }
    }
    call_kernel(SYS_munmap, own, bytes, 0, 0, 0);
  }
  close(file);
}

struct output {
  const char* directory;
  int file;
};

static void begin_unit(const char* name, void* argument) {
  struct output* output = argument;
  char path[kPathBytes];
  const size_t length = strlen(output->directory);
  if (length + strlen(name) >= sizeof path) abort();
  memcpy(path, output->directory, length);
  strcpy(path + length, name);
  output->file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (output->file < 0) abort();
}

static void write_unit(const void* data, unsigned length, void* argument) {
  if (write(((struct output*)argument)->file, data, length) != (ssize_t)length) abort();
}

static void* take_memory(unsigned length, void* argument) {
  (void)argument;
  void* memory = malloc(length);
  if (memory == NULL) abort();
  return memory;
}

__attribute__((constructor)) static void load(void) {
  const char* directory = getenv("GEIGER_COVERAGE_INTO");
  share_counters();
  if (directory == NULL) return;
  struct output output = {directory, -1};
  for (unsigned i = 0; i < unit_count; ++i) {
    __gcov_info_to_gcda(units[i], begin_unit, write_unit, take_memory, &output);
    close(output.file);
  }
}
