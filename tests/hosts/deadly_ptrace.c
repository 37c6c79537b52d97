// A preload library for geiger that kills it at one moment of its work: PTRACE_DEADLY=N ends the
// process that loaded this just before the Nth ptrace() of its children.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

static pid_t loader;
static long deadly;
static long calls;

__attribute__((constructor)) static void remember(void) {
  const char* number = getenv("PTRACE_DEADLY");
  deadly = number ? strtol(number, 0, 10) : 0;
  loader = getpid();
}

// Declared as the C library defines it, but for the type of the request.
long ptrace(int request, ...) {
  va_list arguments;
  va_start(arguments, request);
  const pid_t pid = va_arg(arguments, pid_t);
  void* address = va_arg(arguments, void*);
  void* data = va_arg(arguments, void*);
  va_end(arguments);
  if (getpid() != loader && ++calls == deadly) kill(loader, SIGKILL);
  long (*next)(int, ...) = (long (*)(int, ...))dlsym(RTLD_NEXT, "ptrace");
  return next(request, pid, address, data);
}
