/* bin/geiger of the download: starts libexec/geiger-program beside it by the loader and the libraries
   that came along, so that the system's C library, if there is one, plays no part. It has none itself:
   no program interpreter, no shell.

   The loader is called libexec/geiger: it is what the kernel starts, so this is the name that ps shows,
   and the folder above it is where geiger looks for its files. */
#include <fcntl.h>
#include <linux/limits.h>
#include <stddef.h>
#include <sys/syscall.h>

static long call(long number, long a, long b, long c, long d) {
#if defined(__x86_64__)
  long result;
  register long fourth __asm__("r10") = d;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth)
                   : "rcx", "r11", "memory");
  return result;
#elif defined(__aarch64__)
  register long x8 __asm__("x8") = number;
  register long x0 __asm__("x0") = a;
  register long x1 __asm__("x1") = b;
  register long x2 __asm__("x2") = c;
  register long x3 __asm__("x3") = d;
  __asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3) : "memory");
  return x0;
#else
#error "how does this processor call the kernel?"
#endif
}

static _Noreturn void fail(const char* why, size_t length) {
  call(SYS_write, 2, (long)why, (long)length, 0);
  call(SYS_exit_group, 127, 0, 0, 0);
  __builtin_unreachable();
}
#define FAIL(why) fail(why "\n", sizeof why)

/* A text of at most PATH_MAX bytes. */
struct path {
  char text[PATH_MAX];
  size_t length;
};

static void append(struct path* path, const char* more) {
  for (; *more != '\0'; ++more) {
    if (path->length + 1 == sizeof path->text) FAIL("geiger: its path is too long");
    path->text[path->length++] = *more;
  }
  path->text[path->length] = '\0';
}

static void set(struct path* path, const struct path* prefix, const char* name) {
  append(path, prefix->text);
  append(path, name);
}

/* The program is PREFIX/bin/geiger. */
static void find_prefix(struct path* prefix) {
  const long length = call(SYS_readlinkat, AT_FDCWD, (long)"/proc/self/exe", (long)prefix->text,
                           sizeof prefix->text - 1);
  if (length <= 0) FAIL("geiger: /proc is not mounted");
  prefix->length = (size_t)length;
  for (int folders = 0; folders < 2 && prefix->length > 0;) {
    if (prefix->text[--prefix->length] == '/') ++folders;
  }
  prefix->text[prefix->length] = '\0';
}

/* argc, the arguments, a null, and the environment behind it, as the kernel puts them. */
__attribute__((used)) static _Noreturn void launch(long* stack) {
  static struct path prefix, loader, libraries, program;
  const long count = stack[0];
  char** given = (char**)(stack + 1);
  char** environment = given + count + 1;
  find_prefix(&prefix);
  set(&loader, &prefix, "/libexec/geiger");
  set(&libraries, &prefix, "/lib/geiger/system");
  set(&program, &prefix, "/libexec/geiger-program");
  const char* words[] = {"geiger", "--inhibit-cache", "--library-path", libraries.text, "--argv0",
                         count > 0 ? given[0] : "geiger", program.text};
  enum { kWords = sizeof words / sizeof words[0] };
  const char* arguments[kWords + count + 1];
  for (int i = 0; i < kWords; ++i) arguments[i] = words[i];
  for (long i = 1; i <= count; ++i) arguments[kWords + i - 1] = given[i];
  call(SYS_execve, (long)loader.text, (long)arguments, (long)environment, 0);
  FAIL("geiger: the files of its download are incomplete");
}

__asm__(".globl _start\n_start:\n"
#if defined(__x86_64__)
        "  xor %ebp, %ebp\n  mov %rsp, %rdi\n  and $-16, %rsp\n  call launch\n"
#elif defined(__aarch64__)
        "  mov x29, #0\n  mov x30, #0\n  mov x0, sp\n  b launch\n"
#endif
);
