#include "analysis/profile/memory/python_typing.h"

#include <algorithm>
#include <vector>

#include "analysis/profile/memory/measured.h"

namespace geiger::profile {
namespace {

/// Whether a process has objects without a type, and whether any of them was not freed: those only
/// the process's observer can have read.
enum class Untyped : std::uint8_t { kNone, kFreed, kAlive };

std::string typing_fault_of(const Recording& recording, std::uint32_t process, Untyped untyped) {
  const Observations* observations = observations_of(recording, process);
  if (untyped == Untyped::kAlive && observations == nullptr) return std::string(kNotObserved);
  if (untyped == Untyped::kNone || observations == nullptr) return {};
  if (untyped == Untyped::kAlive && !observations->fault.empty()) return observations->fault;
  return observations->types.fault;
}

}  // namespace

std::optional<PythonTyping> python_typing(const Recording& recording, bool is_at_end) {
  PythonTyping typing;
  typing.is_at_end = is_at_end;
  std::vector<Untyped> untyped(recording.processes.size(), Untyped::kNone);
  for (const Sample& sample : recording.samples) {
    if (!vocabulary::is_python_object(sample.entry_point)) continue;
    if (is_at_end && sample.free_time != 0) continue;
    ++typing.samples;
    if (sample.type != kNone) {
      ++typing.typed;
      continue;
    }
    Untyped& found = untyped[sample.process];
    found = std::max(found, sample.free_time != 0 ? Untyped::kFreed : Untyped::kAlive);
  }
  for (const Tally& tally : recording.tallies) {
    if (!vocabulary::is_python_object(tally.alike.entry_point)) continue;
    typing.samples += is_at_end ? tally.allocated - tally.freed : tally.allocated;
    typing.fault = "the recording is aggregated";
  }
  if (typing.samples == 0) return std::nullopt;
  for (std::uint32_t i = 0; i < untyped.size() && typing.fault.empty(); ++i) {
    typing.fault = typing_fault_of(recording, i, untyped[i]);
  }
  return typing;
}

}  // namespace geiger::profile
