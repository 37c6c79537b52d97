#include "analysis/export/program.h"

#include <algorithm>

namespace geiger::exports {

const profile::Process* first_process(const profile::Recording& recording) {
  const auto& processes = recording.processes;
  if (processes.empty()) return nullptr;
  return &*std::ranges::min_element(processes, {}, &profile::Process::start);
}

std::string program_of(const profile::Recording& recording) {
  const profile::Process* first = first_process(recording);
  return first == nullptr ? "?" : first->executable;
}

}  // namespace geiger::exports
