#include "inject/thread_order.h"

#include <fmt/format.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <utility>

#include "inject/machine.h"

namespace geiger::inject {
namespace {

int rank_of(pid_t pid, pid_t tid) {
  std::ifstream in(fmt::format("/proc/{}/task/{}/syscall", pid, tid));
  std::string word;
  in >> word;
  if (word.empty() || word == "running" || word == "-1") return 1;
  const int number = std::atoi(word.c_str());
  const bool sees_it = machine::notices_stops(number) || number == SYS_epoll_pwait ||
                       number == SYS_semop || number == SYS_semtimedop || number == SYS_msgrcv ||
                       number == SYS_msgsnd || number == SYS_rt_sigtimedwait ||
                       number == SYS_io_getevents;
  return sees_it ? 2 : 0;
}

}  // namespace

std::vector<pid_t> threads_of(pid_t pid) {
  std::vector<pid_t> threads;
  std::error_code error;
  for (const auto& entry :
       std::filesystem::directory_iterator(fmt::format("/proc/{}/task", pid), error)) {
    threads.push_back(std::atoi(entry.path().filename().c_str()));
  }
  return threads;
}

/// Reads each rank once: threads continue to run, and sorting by a changing order is undefined.
std::vector<pid_t> threads_by_rank(pid_t pid) {
  std::vector<std::pair<int, pid_t>> ranked;
  for (const pid_t tid : threads_of(pid)) ranked.emplace_back(rank_of(pid, tid), tid);
  std::ranges::stable_sort(ranked, {}, &std::pair<int, pid_t>::first);
  std::vector<pid_t> threads;
  for (const auto& [rank, tid] : ranked) threads.push_back(tid);
  return threads;
}

}  // namespace geiger::inject
