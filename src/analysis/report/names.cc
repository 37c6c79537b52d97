#include "analysis/report/names.h"

#include <fmt/format.h>

#include <array>
#include <system_error>

namespace geiger::report {
namespace {

constexpr std::array<std::string_view, kEntryPoints> kEntryPointNames{"malloc",
                                                                      "calloc",
                                                                      "realloc",
                                                                      "reallocarray",
                                                                      "posix_memalign",
                                                                      "aligned_alloc",
                                                                      "memalign",
                                                                      "valloc",
                                                                      "pvalloc",
                                                                      "operator new",
                                                                      "operator new[]",
                                                                      "operator new (aligned)",
                                                                      "operator new[] (aligned)"};

struct Cause {
  std::string_view key, text;
};

constexpr std::array<Cause, kDropCauses> kCauses{
    {{"trace_full", "the trace was full"},
     {"reentered", "a signal handler allocated while a sample was being taken"},
     {"live_table_full", "too many samples lived at once; their frees are missing"},
     {"unseen_free", "an address came back while its sample still lived"},
     {"uncarried", "a new segment had no room for live samples; their fates are missing"}}};

constexpr std::array<Cause, 5> kStopReasons{
    {{"", ""},
     {"trace_full", "the trace reached its largest size"},
     {"no_space", "the file system had no space left"},
     {"map_failed", "memory for the trace could not be mapped"},
     {"failed_check", "an internal check of geiger failed; a mark says where"}}};

std::string stop_text(const profile::Process& process) {
  std::string text = process.stop_reason < kStopReasons.size()
                         ? std::string(kStopReasons[process.stop_reason].text)
                         : fmt::format("reason {}", process.stop_reason);
  if (process.stop_errno == 0) return text;
  return text + " (" + std::generic_category().message(process.stop_errno) + ")";
}

}  // namespace

std::string entry_point_name(std::uint8_t entry_point) {
  if (entry_point < kEntryPoints) return std::string(kEntryPointNames[entry_point]);
  return fmt::format("entry point {}", entry_point);
}

std::string drop_cause_text(std::size_t cause) {
  return cause < kDropCauses ? std::string(kCauses[cause].text) : fmt::format("cause {}", cause);
}

std::string drop_cause_key(std::size_t cause) {
  return cause < kDropCauses ? std::string(kCauses[cause].key) : fmt::format("cause_{}", cause);
}

std::string_view ending_key(profile::Ending ending) {
  constexpr std::array<std::string_view, 6> kKeys{"exited",       "killed",    "still_open",
                                                  "switched_off", "continued", "stopped"};
  return kKeys.at(static_cast<std::size_t>(ending));
}

std::string ending_text(const profile::Process& process) {
  switch (process.ending) {
    case profile::Ending::kExited:
      return "exited";
    case profile::Ending::kKilled:
      return "ended by a signal, _exit or exec";
    case profile::Ending::kStillOpen:
      return "was still running";
    case profile::Ending::kContinued:
      return "recorded on in segments that are not here";
    case profile::Ending::kStopped:
      return "stopped recording on request";
    case profile::Ending::kSwitchedOff:
      return "recording stopped early: " + stop_text(process);
  }
  return "ended";
}

std::string_view stop_reason_key(std::uint32_t reason) {
  return reason < kStopReasons.size() ? kStopReasons[reason].key : "unknown";
}

}  // namespace geiger::report
