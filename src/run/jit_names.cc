#include "run/jit_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "base/path.h"

namespace geiger::run {
namespace {

constexpr std::string_view kNodeOptions = "NODE_OPTIONS=";
/// This kind of map has functions only, and leaves no log in the working directory.
constexpr std::string_view kNodeMap = "--perf-basic-prof-only-functions";
constexpr std::string_view kAnyNodeMap = "--perf-basic-prof";
constexpr std::string_view kNodeFrames = "--interpreted-frames-native-stack";

constexpr std::string_view kJavaMap = "-XX:+DumpPerfMapAtExit";  // Since JDK 17.
constexpr std::array<std::string_view, 4> kJavaOptions{"-XX:+IgnoreUnrecognizedVMOptions",
                                                       "-XX:+PreserveFramePointer",
                                                       "-XX:+UnlockDiagnosticVMOptions", kJavaMap};

std::string& variable(Environment& environment, std::string_view start) {
  const auto found = std::ranges::find_if(
      environment, [&](const std::string& word) { return word.starts_with(start); });
  return found != environment.end() ? *found : environment.emplace_back(start);
}

void add_option(std::string& options, std::string_view option) {
  if (!options.ends_with('=')) options += ' ';
  options += option;
}

}  // namespace

bool ask_node(Environment& environment, const std::vector<std::string>& program) {
  std::string& options = variable(environment, kNodeOptions);
  const bool has_map =
      options.find(kAnyNodeMap) != std::string::npos ||
      std::ranges::any_of(program, [](const auto& word) { return word.starts_with(kAnyNodeMap); });
  if (!has_map) add_option(options, kNodeMap);
  if (options.find(kNodeFrames) == std::string::npos) add_option(options, kNodeFrames);
  return !has_map;
}

base::Outcome<bool> ask_java(std::vector<std::string>& program) {
  if (base::file_name_of(program.front()) != "java") {
    return base::Failure{fmt::format("--java: '{}' is not java; give its JVM {}", program.front(),
                                     fmt::join(kJavaOptions.begin() + 1, kJavaOptions.end(), " ")),
                         base::Fault::kRequest};
  }
  const bool has_map = std::ranges::find(program, kJavaMap) != program.end();
  program.insert(program.begin() + 1, kJavaOptions.begin(), kJavaOptions.end());
  return !has_map;
}

}  // namespace geiger::run
