#include "inject/registers.h"

#include <fmt/format.h>
#include <sys/syscall.h>
#include <sys/user.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#include "inject/borrowed_thread.h"
#include "inject/machine.h"
#include "inject/target.h"

namespace geiger::inject {

StopEffect effect_of_stop(pid_t pid, pid_t tid) {
  std::ifstream in(fmt::format("/proc/{}/task/{}/syscall", pid, tid));
  std::string word;
  in >> word;
  if (word.empty() || word == "running" || word == "-1") return StopEffect::kNone;
  const int number = std::atoi(word.c_str());
  const bool notices_it =
      machine::notices_stops(number) || number == SYS_epoll_pwait || number == SYS_epoll_pwait2 ||
      number == SYS_semop || number == SYS_semtimedop || number == SYS_msgrcv ||
      number == SYS_msgsnd || number == SYS_rt_sigtimedwait || number == SYS_io_getevents;
  return notices_it ? StopEffect::kNoticed : StopEffect::kRestarted;
}

std::vector<RegistersOf> read_registers(pid_t pid) {
  std::vector<RegistersOf> all;
  for (const pid_t tid : threads_of(pid)) {
    if (effect_of_stop(pid, tid) == StopEffect::kNoticed) continue;
    BorrowedThread thread(pid, tid);
    if (thread.seize() != 0) continue;
    const user_regs_struct registers = thread.registers();
    thread.release();
    RegistersOf& read = all.emplace_back(RegistersOf{tid, {}});
    read.words.resize(sizeof registers / sizeof read.words[0]);
    std::memcpy(read.words.data(), &registers, read.words.size() * sizeof read.words[0]);
  }
  return all;
}

}  // namespace geiger::inject
