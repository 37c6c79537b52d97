#include "analysis/symbolize/outside_names.h"

#include <sys/stat.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "analysis/symbolize/perf_map.h"

namespace geiger::symbolize {
namespace {

using profile::Recording;

/// The trace belongs to the user that the process ran as.
MapOwner map_owner(const profile::Process& process) {
  struct stat trace {};
  const bool has_trace = ::stat(process.trace_path.c_str(), &trace) == 0;
  return {process.own_pid(), process.pid, process.start_realtime, has_trace ? trace.st_uid : 0};
}

/// Names `locations`, in the order of their addresses, where they have no name yet.
void name_from_map(const Recording& recording, const std::string& directory, const MapOwner& owner,
                   std::span<const std::uint32_t> locations, OutsideNames& names) {
  const auto map = read_perf_map(directory, owner);
  if (!map) return;
  std::vector<Address> addresses;
  addresses.reserve(locations.size());
  for (const std::uint32_t index : locations) {
    addresses.push_back(recording.locations[index].vaddr);
  }
  const std::vector<std::string_view> found = look_up_perf_map(*map, addresses);
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (!found[i].empty()) names.try_emplace(locations[i], found[i]);
  }
}

void name_process(const Recording& recording, const std::string& directory, std::uint32_t process,
                  std::vector<std::uint32_t>& locations, OutsideNames& names) {
  if (process >= recording.processes.size()) return;
  std::sort(locations.begin(), locations.end(), [&](std::uint32_t a, std::uint32_t b) {
    return recording.locations[a].vaddr < recording.locations[b].vaddr;
  });
  const profile::Process& image = recording.processes[process];
  const MapOwner owner = map_owner(image);
  name_from_map(recording, directory, owner, locations, names);
  // What was compiled before the fork is in the map of the parent.
  if (image.is_fork_child) {
    const MapOwner parent{.pid = image.parent_pid, .user = owner.user};
    name_from_map(recording, directory, parent, locations, names);
  }
}

}  // namespace

OutsideNames name_outside(const Recording& recording, const std::string& directory,
                          std::span<const std::uint32_t> locations) {
  std::map<std::uint32_t, std::vector<std::uint32_t>> by_process;
  for (const std::uint32_t index : locations) {
    by_process[recording.locations[index].process].push_back(index);
  }
  OutsideNames names;
  for (auto& [process, of_process] : by_process) {
    name_process(recording, directory, process, of_process, names);
  }
  return names;
}

void remove_map_of(const profile::Process& process, const std::string& directory) {
  remove_perf_map(directory, map_owner(process));
}

}  // namespace geiger::symbolize
