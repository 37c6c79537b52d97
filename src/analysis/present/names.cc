#include "analysis/present/names.h"

#include <fmt/format.h>

#include <cstring>
#include <system_error>

namespace geiger::present {

using vocabulary::DropCause;
using vocabulary::EntryPoint;
using vocabulary::StopReason;

namespace {

std::string stop_text(const profile::Process& process) {
  const std::string_view words = words_of(process.stop_reason).text;
  const auto number = static_cast<std::uint32_t>(process.stop_reason);
  const std::string text =
      words.empty() && number != 0 ? fmt::format("reason {}", number) : std::string(words);
  if (process.stop_errno == 0) return text;
  return text + " (" + std::generic_category().message(process.stop_errno) + ")";
}

}  // namespace

std::string entry_point_name(EntryPoint entry_point) {
  const std::string_view name = name_of(entry_point);
  if (!name.empty()) return std::string(name);
  return fmt::format("entry point {}", static_cast<unsigned>(entry_point));
}

std::string drop_cause_text(DropCause cause) {
  const std::string_view text = words_of(cause).text;
  return text.empty() ? fmt::format("cause {}", static_cast<unsigned>(cause)) : std::string(text);
}

std::string drop_cause_key(DropCause cause) {
  const std::string_view key = words_of(cause).key;
  return key.empty() ? fmt::format("cause_{}", static_cast<unsigned>(cause)) : std::string(key);
}

std::string_view ending_key(profile::Ending ending) {
  switch (ending) {
    case profile::Ending::kExited:
      return "exited";
    case profile::Ending::kKilled:
      return "killed";
    case profile::Ending::kStillOpen:
      return "still_open";
    case profile::Ending::kSwitchedOff:
      return "switched_off";
    case profile::Ending::kContinued:
      return "continued";
    case profile::Ending::kStopped:
      return "stopped";
  }
  return "unknown";
}

std::string pid_text(const profile::Process& process) {
  if (process.inner_pid == 0) return std::to_string(process.pid);
  return fmt::format("{} ({} in its pid namespace)", process.pid, process.inner_pid);
}

std::string killed_text(const profile::Process& process) {
  const char* const name = sigabbrev_np(static_cast<int>(process.end_signal));
  return fmt::format(
      "killed by {}{}",
      name != nullptr ? fmt::format("SIG{}", name) : fmt::format("signal {}", process.end_signal),
      process.was_memory_short ? " (out of memory?)" : "");
}

std::string ending_text(const profile::Process& process) {
  switch (process.ending) {
    case profile::Ending::kExited:
      return "exited";
    case profile::Ending::kKilled:
      return process.end_signal == 0 ? "ended by a signal, _exit or exec" : killed_text(process);
    case profile::Ending::kStillOpen:
      return "was still running";
    case profile::Ending::kContinued:
      return "continued in segments that are missing";
    case profile::Ending::kStopped:
      return "stopped recording on request";
    case profile::Ending::kSwitchedOff:
      return "recording stopped early: " + stop_text(process);
  }
  return "ended";
}

std::string_view stop_reason_key(StopReason reason) {
  const std::string_view key = words_of(reason).key;
  return key.empty() && reason != StopReason::kNone ? "unknown" : key;
}

}  // namespace geiger::present
