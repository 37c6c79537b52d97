#include "analysis/symbolize/trim.h"

#include "analysis/profile/frames/allocation_functions.h"
#include "base/path.h"

namespace geiger::symbolize {
namespace {

constexpr std::string_view kRuntimeModule = "libgeiger-preload.so";

bool is_runtime_frame(const profile::Recording& recording, const profile::Location& location,
                      const profile::Frame& frame) {
  if (recording.is_source(location)) return false;
  const bool has_module = location.module < recording.modules.size();
  if (has_module && location.process < recording.processes.size() &&
      is_allocator_module(recording.modules[location.module].path,
                          recording.processes[location.process])) {
    return true;
  }
  return profile::is_allocation_function(frame.function);
}

}  // namespace

bool is_c_library(std::string_view path) {
  const std::string_view base = base::file_name_of(path);
  return base.starts_with("libc.") || base.starts_with("libc-") || base.starts_with("ld-") ||
         base.starts_with("ld.");
}

bool is_allocator_module(std::string_view path, const profile::Process& process) {
  const std::string_view file = base::file_name_of(path);
  if (file == kRuntimeModule) return true;
  return path == process.allocator && path != process.executable && !is_c_library(path);
}

std::size_t leading_runtime_frames(const profile::Recording& recording,
                                   const profile::Stack& stack) {
  std::size_t leading = 0;
  std::size_t total = 0;
  for (const std::uint32_t index : stack.locations) {
    total += recording.locations[index].frames.size();
  }
  for (const std::uint32_t index : stack.locations) {
    const profile::Location& location = recording.locations[index];
    for (const std::uint32_t frame : location.frames) {
      if (leading + 1 >= total) return leading;
      if (!is_runtime_frame(recording, location, recording.frames[frame])) return leading;
      ++leading;
    }
  }
  return leading;
}

}  // namespace geiger::symbolize
