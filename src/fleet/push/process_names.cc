#include "fleet/push/process_names.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/parts.h"
#include "fleet/document/limits.h"

namespace geiger::fleet {
namespace {

/// The first digits of a build id distinguish builds.
constexpr std::size_t kBuildDigits = 12;
constexpr std::size_t kMostEnvironment = std::size_t{1} << 20;

/// "%2C" is a comma.
std::string percent_decoded(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned byte = 0;
    const char* const digits = text.data() + i + 1;
    const bool is_escape = text[i] == '%' && i + 2 < text.size() &&
                           std::from_chars(digits, digits + 2, byte, 16).ptr == digits + 2;
    plain.push_back(is_escape ? static_cast<char>(byte) : text[i]);
    if (is_escape) i += 2;
  }
  return plain;
}

std::string attribute(std::string_view attributes, std::string_view name) {
  while (!attributes.empty()) {
    const std::string_view pair = base::take_part(attributes, ',');
    const std::size_t equals = pair.find('=');
    if (equals != std::string_view::npos && pair.substr(0, equals) == name) {
      return percent_decoded(pair.substr(equals + 1));
    }
  }
  return {};
}

/// Of a process id that may be another process's by now: the executable must be the same.
std::string environment_of(const RunningProgram& program) {
  const std::string directory = "/proc/" + std::to_string(program.pid);
  std::error_code error;
  const auto executable = std::filesystem::read_symlink(directory + "/exe", error);
  if (error || executable != program.executable) return {};
  std::ifstream stream(directory + "/environ", std::ios::binary);
  std::string text(std::istreambuf_iterator<char>(stream), {});
  if (text.size() > kMostEnvironment) text.resize(kMostEnvironment);
  return text;
}

std::string first_valid(std::initializer_list<std::string> names) {
  const auto* const found = std::ranges::find_if(
      names, [](const std::string& name) { return check_name(name).has_value(); });
  return found == names.end() ? "unknown" : *found;
}

}  // namespace

ProcessNames names_in_environment(std::string_view environment) {
  constexpr std::string_view kService = "OTEL_SERVICE_NAME=";
  constexpr std::string_view kAttributes = "OTEL_RESOURCE_ATTRIBUTES=";
  ProcessNames names;
  std::string in_attributes;
  while (!environment.empty()) {
    const std::string_view variable = base::take_part(environment, '\0');
    if (variable.starts_with(kService)) names.service = variable.substr(kService.size());
    if (variable.starts_with(kAttributes)) {
      in_attributes = attribute(variable.substr(kAttributes.size()), "service.name");
      names.version = attribute(variable.substr(kAttributes.size()), "service.version");
    }
  }
  if (names.service.empty()) names.service = in_attributes;
  return names;
}

ProcessNames names_of(const RunningProgram& program, const ProcessNames& given) {
  ProcessNames said;
  if (given.service.empty() || given.version.empty()) {
    said = names_in_environment(environment_of(program));
  }
  const std::string file = std::filesystem::path(program.executable).filename();
  return {first_valid({given.service, said.service, file}),
          first_valid({given.version, said.version, program.build_id.substr(0, kBuildDigits)})};
}

RunningProgram program_of(const profile::Recording& recording, const profile::Process& process) {
  RunningProgram program{process.pid, process.executable, {}};
  for (const profile::Module& module : recording.modules) {
    if (module.path == process.executable) program.build_id = module.build_id;
  }
  return program;
}

}  // namespace geiger::fleet
