// Programs that write their title over the arguments and the environment they were started
// with, as redis, nginx and stress-ng do, and go on to fork and to exec.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "scenario.h"

namespace {

char** arguments = nullptr;

/// Fills everything from argv[0] to the end of the environment, whose entries live on elsewhere.
void overwrite(char filling) {
  std::vector<std::string> entries;
  char* end = nullptr;
  for (char** at = environ; *at != nullptr; ++at) {
    entries.emplace_back(*at);
    end = *at + std::strlen(*at);
  }
  std::memset(arguments[0], filling, static_cast<std::size_t>(end - arguments[0]));
  clearenv();
  for (const std::string& entry : entries) {
    const std::size_t equals = entry.find('=');
    setenv(entry.substr(0, equals).c_str(), entry.substr(equals + 1).c_str(), 1);
  }
}

void churn() {
  for (int i = 0; i < 2000; ++i) std::free(opaque(std::malloc(100 + i % 300)));
}

void fork_one() {
  churn();
  const pid_t child = fork();
  if (child == 0) {
    churn();
    std::exit(3);
  }
  int status = 0;
  EXPECT(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 3);
}

void zeros() { overwrite('\0'), fork_one(); }
void letters() { overwrite('x'), fork_one(); }
void slashes() { overwrite('/'), fork_one(); }

void execs() {
  overwrite('x');
  churn();
  execl("/bin/sh", "sh", "-c", "echo replaced", nullptr);
}

constexpr Scenario kScenarios[] = {
    {"zeros", zeros}, {"letters", letters}, {"slashes", slashes}, {"execs", execs}};

}  // namespace

int main(int argc, char** argv) {
  arguments = argv;
  return run_scenario(argc, argv, kScenarios);
}
