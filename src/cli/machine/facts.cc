#include "cli/machine/facts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gnu/libc-version.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <fstream>
#include <map>

namespace geiger::cli {
namespace {

/// The lines "name : text" of the first processor.
std::map<std::string, std::string> first_processor() {
  std::map<std::string, std::string> lines;
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line) && !line.empty();) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const std::size_t end = line.find_last_not_of(" \t", colon - 1);
    const std::size_t begin = line.find_first_not_of(" \t", colon + 1);
    if (begin != std::string::npos) lines[line.substr(0, end + 1)] = line.substr(begin);
  }
  return lines;
}

#if defined(__aarch64__)
struct Feature {
  unsigned long area;
  unsigned long bit;
  const char* name;
};
constexpr Feature kFeatures[] = {
    {AT_HWCAP, 1UL << 8, "atomics"}, {AT_HWCAP, 1UL << 22, "sve"},  {AT_HWCAP, 1UL << 30, "paca"},
    {AT_HWCAP2, 1UL << 17, "bti"},   {AT_HWCAP2, 1UL << 18, "mte"}, {AT_HWCAP2, 1UL << 23, "sme"},
};

std::vector<std::string> features() {
  std::vector<std::string> names;
  for (const Feature& feature : kFeatures) {
    if ((getauxval(feature.area) & feature.bit) != 0) names.emplace_back(feature.name);
  }
  constexpr int kGetVectorLength = 51;  // PR_SVE_GET_VL
  const int length = prctl(kGetVectorLength);
  if (length > 0) names.push_back(fmt::format("vectors of {} bits", (length & 0xffff) * 8));
  return names;
}

std::string model(const std::map<std::string, std::string>& lines) {
  const auto text = [&lines](const char* name) {
    const auto found = lines.find(name);
    return found == lines.end() ? std::string("?") : found->second;
  };
  return fmt::format("implementer {}, part {}, variant {}, revision {}", text("CPU implementer"),
                     text("CPU part"), text("CPU variant"), text("CPU revision"));
}
#else
std::vector<std::string> features() { return {}; }

std::string model(const std::map<std::string, std::string>& lines) {
  const auto found = lines.find("model name");
  return found == lines.end() ? "of an unknown model" : found->second;
}
#endif

}  // namespace

std::vector<MachineFact> machine_facts() {
  utsname system{};
  uname(&system);
  std::vector<std::string> processor{system.machine, model(first_processor())};
  processor.push_back(fmt::format("{} online", sysconf(_SC_NPROCESSORS_ONLN)));
  for (std::string& name : features()) processor.push_back(std::move(name));
  return {{"processor", fmt::format("{}", fmt::join(processor, ", "))},
          {"kernel", fmt::format("{} {}, pages of {} bytes", system.sysname, system.release,
                                 sysconf(_SC_PAGESIZE))},
          {"C library", fmt::format("glibc {}", gnu_get_libc_version())}};
}

}  // namespace geiger::cli
