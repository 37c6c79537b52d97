#include "analysis/observe/oom_kills.h"

#include <fstream>
#include <string>
#include <string_view>

#include "base/numbers.h"

namespace geiger::observe {

std::uint64_t oom_kills() {
  constexpr std::string_view kCounter = "oom_kill ";
  std::ifstream counters("/proc/vmstat");
  for (std::string line; std::getline(counters, line);) {
    if (!line.starts_with(kCounter)) continue;
    return base::number_in<std::uint64_t>(line.substr(kCounter.size())).value_or(0);
  }
  return 0;
}

}  // namespace geiger::observe
