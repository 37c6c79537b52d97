#include "inject/target.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <system_error>

#include "inject/call_filters.h"

namespace geiger::inject {
namespace {

std::optional<std::string> contents_of(const std::string& path) {
  std::ifstream in(path);
  if (!in) return std::nullopt;
  return std::string{std::istreambuf_iterator<char>(in), {}};
}

constexpr unsigned kNoUser = ~0U;

void read_users(std::istringstream& words, ProcessFacts& facts) {
  unsigned real = 0, saved = 0;
  if (!(words >> real >> facts.uid >> saved)) facts.uid = kNoUser;
  facts.has_one_user = real == facts.uid && saved == facts.uid;
}

void read_line(const std::string& line, ProcessFacts& facts) {
  const auto colon = line.find(':');
  if (colon == std::string::npos) return;
  const std::string key = line.substr(0, colon);
  std::istringstream words(line.substr(colon + 1));
  unsigned ignored = 0;
  if (key == "State") words >> facts.state;
  if (key == "Tgid") words >> facts.group;
  if (key == "TracerPid") words >> facts.tracer;
  if (key == "Uid") read_users(words, facts);
  if (key == "Gid") words >> ignored >> facts.gid;
  if (key == "NSpid") {
    while (words >> facts.inner_pid) continue;
  }
  if (key == "Seccomp") words >> facts.confinement.mode;
  if (key == "Seccomp_filters") words >> facts.confinement.filters;
  if (key == "VmSize") facts.has_memory = true;
}

std::string yama_text() {
  const auto scope = contents_of("/proc/sys/kernel/yama/ptrace_scope");
  const int level = scope ? std::atoi(scope->c_str()) : 0;
  if (level == 0) return "";
  return fmt::format("kernel.yama.ptrace_scope is {}", level);
}

}  // namespace

std::optional<ProcessFacts> parse_facts(const std::string& status, const std::string& stat) {
  ProcessFacts facts;
  facts.uid = kNoUser;
  std::istringstream lines(status);
  for (std::string line; std::getline(lines, line);) read_line(line, facts);
  if (facts.group == 0 || facts.uid == kNoUser || facts.state == '?') return std::nullopt;
  if (facts.inner_pid == 0) facts.inner_pid = static_cast<std::uint32_t>(facts.group);
  // The name in parentheses may contain anything; the start time is field 22.
  const auto name = stat.find('('), name_end = stat.rfind(')');
  if (name == std::string::npos || name_end == std::string::npos || name_end < name) {
    return std::nullopt;
  }
  facts.name = stat.substr(name + 1, name_end - name - 1);
  std::istringstream fields(stat.substr(name_end + 1));
  std::string field;
  constexpr int kStartAfterName = 20;
  for (int i = 0; i < kStartAfterName; ++i) fields >> field;
  if (!fields || field.find_first_not_of("0123456789") != std::string::npos) return std::nullopt;
  facts.start = std::stoull(field);
  return facts;
}

std::optional<ProcessFacts> facts_of(pid_t pid) {
  const auto status = contents_of(fmt::format("/proc/{}/status", pid));
  const auto stat = contents_of(fmt::format("/proc/{}/stat", pid));
  if (!status || !stat) return std::nullopt;
  return parse_facts(*status, *stat);
}

base::Outcome<void> check_process(pid_t pid, const std::optional<ProcessFacts>& facts,
                                  bool despite_seccomp) {
  if (!facts && access("/proc/self/stat", F_OK) != 0) {
    return base::Failure{fmt::format("/proc is not mounted: process {} cannot be examined", pid)};
  }
  if (pid <= 0 || !facts) return base::Failure{fmt::format("there is no process {}", pid)};
  if (pid == getpid()) return base::Failure{"geiger cannot attach to itself"};
  if (facts->group != pid) {
    return base::Failure{
        fmt::format("{} is a thread of process {}: attach to that", pid, facts->group)};
  }
  if (facts->is_zombie()) {
    return base::Failure{fmt::format("process {} has ended already (a zombie)", pid)};
  }
  if (!facts->has_memory)
    return base::Failure{fmt::format("process {} is a thread of the kernel", pid)};
  const bool is_ours = facts->uid == geteuid() && facts->has_one_user;
  if (!is_ours && geteuid() != 0) {
    return base::Failure{
        fmt::format("process {} belongs to another user (uid {})", pid, facts->uid)};
  }
  if (facts->confinement.mode == 0) return {};
  return check_filters(pid, despite_seccomp).with_prefix(fmt::format("process {} ", pid));
}

base::Outcome<void> check_not_traced(pid_t pid, const ProcessFacts& facts) {
  if (facts.tracer == 0) return {};
  return base::Failure{fmt::format("process {} is being traced by process {}", pid, facts.tracer)};
}

std::vector<pid_t> threads_of(pid_t pid) {
  std::vector<pid_t> threads;
  std::error_code error;
  for (const auto& entry :
       std::filesystem::directory_iterator(fmt::format("/proc/{}/task", pid), error)) {
    threads.push_back(std::atoi(entry.path().filename().c_str()));
  }
  return threads;
}

bool has_ended(pid_t tid) {
  const auto facts = facts_of(tid);
  return !facts || facts->is_zombie();
}

std::string refusal_text(pid_t pid, int error) {
  if (error == ESRCH) return fmt::format("process {} ended in the meantime", pid);
  if (error == ETIMEDOUT)
    return fmt::format("process {} does not stop (it waits in the kernel)", pid);
  if (error != EPERM) {
    return fmt::format("process {} cannot be traced: {}", pid, std::strerror(error));
  }
  const std::string yama = yama_text();
  return fmt::format("the kernel does not permit tracing process {}{}", pid,
                     yama.empty() ? " (not dumpable, already traced, or missing permissions)"
                                  : fmt::format(" ({})", yama));
}

std::optional<PresentRuntime> runtime_in(pid_t pid, const std::vector<RemoteModule>& modules) {
  const RemoteModule* runtime = first_of(modules, ModuleKind::kRuntime);
  if (runtime == nullptr) return std::nullopt;
  const RemoteMemory memory(pid);
  PresentRuntime present{*runtime, {}};
  const auto at = find_symbol(memory, *runtime, base::kAttachmentObject);
  if (at) static_cast<void>(memory.read(at->address, &present.said, sizeof present.said));
  present.said.version[sizeof present.said.version - 1] = '\0';
  present.said.directory[sizeof present.said.directory - 1] = '\0';
  return present;
}

base::Outcome<void> check_not_recorded(pid_t pid, const std::optional<PresentRuntime>& present) {
  // If another runtime is not dormant, it refuses by itself.
  if (!present ||
      static_cast<base::AttachState>(present->said.state) != base::AttachState::kAttached) {
    return {};
  }
  return base::Failure{
      fmt::format("process {} is already being recorded, in {} (geiger detach {} ends that)", pid,
                  present->said.directory, pid)};
}

}  // namespace geiger::inject
