// What a process is called in a fleet, where no option says it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "analysis/profile/recording.h"

namespace geiger::fleet {

struct ProcessNames {
  std::string service, version;
};

/// By OpenTelemetry's variables in an environment (NAME=VALUE, each ended by a zero byte):
/// OTEL_SERVICE_NAME, else service.name of OTEL_RESOURCE_ATTRIBUTES; service.version there. Empty
/// where they do not say it.
[[nodiscard]] ProcessNames names_in_environment(std::string_view environment);

/// A process and what runs in it.
struct RunningProgram {
  std::uint32_t pid = 0;
  std::string executable, build_id;
};

/// By the environment of the process, if it still runs here; else by its executable and the first
/// digits of its build id. What is given stays.
[[nodiscard]] ProcessNames names_of(const RunningProgram& program, const ProcessNames& given);
/// The program of a process that was recorded.
[[nodiscard]] RunningProgram program_of(const profile::Recording& recording,
                                        const profile::Process& process);

}  // namespace geiger::fleet
