#include <stdlib.h>
#include <unistd.h>

/// Of a test that needs one of its own.
extern "C" [[gnu::weak]] const char geiger_test_capacity[];

namespace {

[[gnu::constructor]] void fix_seed(int, char** arguments, char**) {
  if (getenv("GEIGER_SEED") != nullptr) return;
  setenv("GEIGER_SEED", "20", 1);
  setenv("GEIGER_INTERVAL", "4096", 1);
  if (geiger_test_capacity != nullptr) setenv("GEIGER_CAPACITY", geiger_test_capacity, 1);
  unsetenv("GEIGER_DIR");
  execv("/proc/self/exe", arguments);
}

}  // namespace
