#include "cli/options/ending.h"

#include <fmt/format.h>

#include <cstdio>
#include <utility>

#include "cli/options/exit_codes.h"
#include "terminal/terminal.h"

namespace geiger::cli {

base::Failure usage_failure(std::string reason) { return {std::move(reason), base::Fault::kUsage}; }

int end_with(const base::Failure& failure, const std::string& help) {
  terminal::complain(failure.reason);
  switch (failure.fault) {
    case base::Fault::kInput:
      return kExitFailed;
    case base::Fault::kUsage:
      fmt::print(stderr, "Try '{} --help'.\n", help);
      break;
    case base::Fault::kRequest:
      break;
  }
  return kExitUsage;
}

}  // namespace geiger::cli
