#include <stdlib.h>
#include <unistd.h>

namespace {

[[gnu::constructor]] void fix_seed(int, char** arguments, char**) {
  if (getenv("GEIGER_SEED") != nullptr) return;
  setenv("GEIGER_SEED", "20", 1);
  setenv("GEIGER_INTERVAL", "4096", 1);
  unsetenv("GEIGER_DIR");
  execv("/proc/self/exe", arguments);
}

}  // namespace
