/* A program that knows nothing of geiger and opens a plugin that does. */
#include <dlfcn.h>
#include <stdio.h>

int main(int count, char** arguments) {
  (void)count;
  void* library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) return printf("%s\n", dlerror()), 1;
  int (*status)(void*) = (int (*)(void*))(size_t)dlsym(library, "geiger_get_status");
  int (*mark)(const char*) = (int (*)(const char*))(size_t)dlsym(library, "geiger_write_mark");
  long recorder[64];
  int got = status(recorder);
  printf("status %d mark %d closed %d\n", got, mark("late"), dlclose(library));
  return 0;
}
