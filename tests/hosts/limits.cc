// Programs that close what is not theirs, run into limits, or change the
// environment and the credentials they started with.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>

#include "scenario.h"

namespace {

/// Keeps a growing heap so that the runtime must grow its tables and its trace.
void allocate_much() {
  constexpr int kBlocks = 10000;
  static void* blocks[kBlocks];
  for (int round = 0; round < 3; ++round) {
    for (void*& block : blocks) {
      block = opaque(malloc(300));
      EXPECT(block != nullptr);
    }
    for (void* block : blocks) free(block);
  }
}

void limit(int resource, rlim_t value) {
  const rlimit both{value, value};
  EXPECT(setrlimit(static_cast<__rlimit_resource>(resource), &both) == 0);
}

void closed_all() {
  const int kept = dup(1);
  for (int fd = 0; fd < 4096; ++fd)
    if (fd != kept) close(fd);
  const int first = open("/dev/null", O_RDWR);
  const int second = open("/dev/null", O_RDWR);
  allocate_much();
  dprintf(kept, "opened %d and %d\n", first, second);
  dup2(kept, 1);
}

void closed_standard() {
  const int kept = fcntl(1, F_DUPFD, 10);
  for (int fd = 0; fd < 3; ++fd) close(fd);
  allocate_much();
  const int first = open("/dev/null", O_RDWR);
  dprintf(kept, "opened %d\n", first);
  dup2(kept, 1);
}

void address_space() {
  limit(RLIMIT_AS, std::size_t{512} << 20);
  allocate_much();
  EXPECT(opaque(malloc(std::size_t{1} << 30)) == nullptr && errno == ENOMEM);
  free(opaque(malloc(std::size_t{16} << 20)));
}

void file_descriptors() {
  limit(RLIMIT_NOFILE, 4);
  allocate_much();
  std::printf("next %d\n", open("/dev/null", O_RDONLY));
  errno = 0;
  std::printf("then %d\n", open("/dev/null", O_RDONLY));
  std::printf("because %d\n", errno);
}

void file_size() {
  limit(RLIMIT_FSIZE, 4096);
  allocate_much();
}

void processes() {
  limit(RLIMIT_NPROC, 1);
  allocate_much();
}

void stack_size() {
  limit(RLIMIT_STACK, 128 << 10);
  allocate_much();
}

void locked_memory() {
  // Every later mapping is locked, and refused beyond the limit (root excepted).
  std::printf("mlockall %d\n", mlockall(MCL_CURRENT | MCL_FUTURE) == 0 || errno == ENOMEM);
  munlockall();
  allocate_much();
}

void environment() {
  for (int i = 0; i < 200; ++i) {
    char name[32];
    std::snprintf(name, sizeof name, "VARIABLE_%d", i);
    setenv(name, "value", 1);
    free(opaque(malloc(5000)));
  }
  clearenv();
  allocate_much();
  std::printf("PATH %s\n", getenv("PATH") == nullptr ? "gone" : "there");
}

void working_directory() {
  EXPECT(chdir("/") == 0);
  allocate_much();
}

void credentials() {
  if (getuid() == 0) EXPECT(setresuid(65534, 65534, 65534) == 0);
  prctl(PR_SET_DUMPABLE, 0);
  allocate_much();
}

void umasks() {
  const mode_t before = umask(077);
  allocate_much();
  umask(before);
  std::printf("mask %o\n", before);
}

void death_by_limit() {
  // The signal that the program itself provokes still arrives.
  limit(RLIMIT_FSIZE, 1000);
  const int file = open(".", O_TMPFILE | O_RDWR, 0600);
  char text[2000] = {};
  allocate_much();
  std::fflush(stdout);
  if (file >= 0) {
    EXPECT(write(file, text, sizeof text) == 1000);
    (void)!write(file, text, sizeof text);
  }
}

constexpr Scenario kScenarios[] = {
    {"closed_all", closed_all},         {"closed_standard", closed_standard},
    {"address_space", address_space},   {"file_descriptors", file_descriptors},
    {"file_size", file_size},           {"file_size_at_once", file_size},
    {"address_space_at_once", address_space},
    {"credentials_at_once", credentials},
    {"processes", processes},
    {"stack_size", stack_size},         {"locked_memory", locked_memory},
    {"environment", environment},       {"working_directory", working_directory},
    {"credentials", credentials},       {"umasks", umasks},
    {"death_by_limit", death_by_limit},
};

}  // namespace

int main(int argc, char** argv) {
  // Most programs allocate before they limit themselves; those that do not are
  // the scenarios whose name says so.
  if (argc < 2 || strstr(argv[1], "at_once") == nullptr) free(opaque(malloc(100)));
  return run_scenario(argc, argv, kScenarios);
}
