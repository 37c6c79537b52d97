#include "analysis/profile/memory/python_typing.h"

#include <vector>

#include "analysis/profile/memory/measured.h"

namespace geiger::profile {
namespace {

std::string typing_fault_of(const Recording& recording, std::uint32_t process) {
  const Observations* observations = observations_of(recording, process);
  if (observations == nullptr) return std::string(kNotObserved);
  if (!observations->fault.empty()) return observations->fault;
  return observations->types.fault;
}

}  // namespace

std::optional<PythonTyping> python_typing(const Recording& recording, bool is_at_end) {
  PythonTyping typing;
  typing.is_at_end = is_at_end;
  std::vector<bool> has_objects(recording.processes.size());
  for (const Sample& sample : recording.samples) {
    if (!vocabulary::is_python_object(sample.entry_point)) continue;
    if (is_at_end && sample.free_time != 0) continue;
    ++typing.samples;
    if (sample.type != kNone) ++typing.typed;
    has_objects[sample.process] = true;
  }
  if (typing.samples == 0) return std::nullopt;
  for (std::uint32_t i = 0; i < has_objects.size() && typing.fault.empty(); ++i) {
    if (has_objects[i]) typing.fault = typing_fault_of(recording, i);
  }
  return typing;
}

}  // namespace geiger::profile
