#include "analysis/present/recording_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#include "analysis/present/format.h"

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

namespace {

using profile::Interpreter;
using profile::Process;
using profile::Recording;
using profile::Segment;
using vocabulary::InterpretedFrames;
using vocabulary::SmallObjects;

constexpr std::size_t kLinesShown = 8;

std::string since_start(const Process& process, Nanoseconds time) {
  return duration(time - std::min(time, process.image_start));
}

std::string segments_line(const Process& process) {
  if (process.segments.empty()) return "";
  const Segment& first = process.segments.front();
  const bool is_plain = process.segments.size() == 1 && first.number == 0;
  if (is_plain) return "";
  const std::string from =
      first.number == 0 ? "the start" : since_start(process, first.start) + " after the start";
  std::string line = fmt::format("{}, from {} to {}", plural(process.segments.size(), "segment"),
                                 from, since_start(process, process.segments.back().end));
  if (first.number > 0) {
    line += fmt::format(
        "; {} earlier {} deleted, and all other times count from the first that "
        "is left",
        exact_count(first.number), first.number == 1 ? "segment was" : "segments were");
  }
  return line;
}

std::string thinning_line(const Process& process) {
  if (process.thinning == 0) return "";
  const bool is_countable = process.thinning < 64;
  return fmt::format("frees were recorded for 1 of {} samples, which represent the others",
                     is_countable ? exact_count(std::uint64_t{1} << process.thinning) : "2^64");
}

std::vector<std::string> lines_of(const Process& process, bool is_followed) {
  std::vector<std::string> lines{segments_line(process)};
  if (process.is_attached) {
    lines.emplace_back("attached while the program ran: earlier allocations are not included");
  }
  lines.push_back(thinning_line(process));
  if (process.is_aggregated && !is_followed) {
    lines.emplace_back("aggregated: samples were counted, not followed; no peak, no lifetimes");
  }
  std::erase(lines, "");
  return lines;
}

bool misses_small_objects(const Interpreter& interpreter) {
  return interpreter.small_objects != SmallObjects::kSampled &&
         interpreter.small_objects != SmallObjects::kByMalloc;
}

std::string line_of(const Interpreter& interpreter) {
  std::string line = "Python " + python_version(interpreter.version);
  std::string_view between = ": ";
  const auto add = [&](std::string_view words) {
    line += fmt::format("{}{}", std::exchange(between, "; "), words);
  };
  if (interpreter.frames != InterpretedFrames::kRecorded) {
    add(vocabulary::words_of(interpreter.frames).text);
  }
  if (misses_small_objects(interpreter)) {
    add(vocabulary::words_of(interpreter.small_objects).text);
  }
  return line;
}

bool misses_something(const Interpreter& interpreter) {
  return interpreter.frames != InterpretedFrames::kRecorded || misses_small_objects(interpreter);
}

/// The keys of a vocabulary, and the empty one of a value that a later runtime wrote.
template <typename Enum>
std::vector<std::string_view> keys_of() {
  std::vector<std::string_view> keys =
      texts_of<Enum>([](Enum value) { return vocabulary::words_of(value).key; });
  keys.emplace_back();
  return keys;
}

/// Of a process: how many of its samples were followed.
struct Thinning {
  const Process& process;
};
const Fields<Thinning>& fields_of(Of<Thinning> /*type*/) {
  static const auto kFields =
      Fields<Thinning>()
          .field("level", "", [](const Thinning& it) { return it.process.thinning; })
          .field("keep", "2^-level: the share of samples whose fates were followed",
                 [](const Thinning& it) { return it.process.keep(); });
  return kFields;
}

}  // namespace

std::vector<std::string> extent_lines(const Recording& recording, bool is_followed) {
  std::vector<std::string> lines;
  for (const Process& process : recording.processes) {
    const bool is_alone = recording.processes.size() == 1;
    for (const std::string& line : lines_of(process, is_followed)) {
      lines.push_back(is_alone ? line : fmt::format("pid {}: {}", process.pid, line));
    }
  }
  if (lines.size() <= kLinesShown) return lines;
  const std::size_t more = lines.size() - kLinesShown;
  lines.resize(kLinesShown);
  lines.push_back(fmt::format("and {} more lines like these", more));
  return lines;
}

std::vector<std::string> refused_lines(const Recording& recording) {
  const auto message = [](int error) { return std::generic_category().message(error); };
  std::vector<std::string> lines;
  std::uint64_t children = 0;
  int reason = 0;
  for (const Process& process : recording.processes) {
    children += process.refused.children;
    if (process.refused.children != 0) reason = process.refused.children_errno;
  }
  if (children != 0) {
    lines.push_back(fmt::format(
        "{} not recorded: no trace could be created ({})",
        children == 1 ? "1 child process was" : exact_count(children) + " child processes were",
        message(reason)));
  }
  const auto calling = std::ranges::find_if(recording.processes, &Process::calls_privately);
  if (calling != recording.processes.end()) {
    const auto count = std::ranges::count_if(recording.processes, &Process::calls_privately);
    lines.push_back(fmt::format(
        "{} {} that geiger does not record (mallocx, mi_malloc, tc_malloc, ...): what is allocated "
        "by them is in no figure, and what is freed by them seems to be live",
        count == 1 ? fmt::format("pid {} may call functions of", calling->pid)
                   : fmt::format("{} processes may call functions of",
                                 exact_count(static_cast<std::uint64_t>(count))),
        profile::file_name_of(calling->allocator)));
  }
  for (const Process& process : recording.processes) {
    if (process.refused.segment_errno == 0) continue;
    lines.push_back(fmt::format(
        "pid {}: no further segment could be created ({}), so the last one kept growing",
        process.pid, message(process.refused.segment_errno)));
  }
  return lines;
}

std::uint64_t missing_segments(const Recording& recording) {
  std::uint64_t missing = 0;
  for (const Process& process : recording.processes) {
    if (process.segments.empty()) continue;
    missing += std::uint64_t{process.segments.back().number} + 1 - process.segments.size();
  }
  return missing;
}

[[nodiscard]] const Fields<Segment>& fields_of(Of<Segment> /*type*/) {
  static const auto kFields =
      Fields<Segment>("segment")
          .field("number", "", &Segment::number)
          .field("start_ns", "", &Segment::start)
          .field("end_ns", "", &Segment::end)
          .field("is_complete", "all samples that were live at its start are known",
                 &Segment::is_complete)
          .field("lost_live_samples", "", &Segment::lost);
  return kFields;
}

std::string text_of(const profile::ProcessorTime& time) {
  if (!time.is_known()) return "";
  return (time.is_least ? "at least " : "") + duration(time.used);
}

const Fields<profile::ProcessorTime>& fields_of(Of<profile::ProcessorTime> /*type*/) {
  using profile::ProcessorTime;
  static const auto kFields =
      Fields<ProcessorTime>()
          .field("processor_time_ns", "user and system, while it was recorded; if that is known",
                 [](const ProcessorTime& it) { return if_true(it.is_known(), it.used); })
          .field("is_processor_time_least", "some of it is not known, as of a process that was killed",
                 [](const ProcessorTime& it) { return if_true(it.is_known(), it.is_least); });
  return kFields;
}

const Fields<ExtentOf>& fields_of(Of<ExtentOf> /*type*/) {
  static const auto kFields =
      Fields<ExtentOf>()
          .field("segments",
                 "those that were read, by their numbers: from 0, missing ones were deleted",
                 [](const ExtentOf& it) { return std::span(it.process.segments); })
          .field("thinning", "", [](const ExtentOf& it) { return Thinning{it.process}; })
          .field("is_attached", "the recording began while the program ran",
                 [](const ExtentOf& it) { return it.process.is_attached; })
          .field("is_aggregated", "samples were counted, not followed",
                 [](const ExtentOf& it) { return it.process.is_aggregated; });
  return kFields;
}

std::string python_version(std::uint32_t version) {
  return fmt::format("{}.{}.{}", version >> 24, version >> 16 & 0xff, version >> 8 & 0xff);
}

std::vector<std::string> frameless_lines(const profile::Recording& recording) {
  std::set<std::string> lines;
  for (const Interpreter& interpreter : recording.interpreters) {
    const bool is_frameless = interpreter.frames != InterpretedFrames::kRecorded &&
                              interpreter.frames != InterpretedFrames::kOff;
    if (is_frameless) lines.insert(line_of(interpreter));
  }
  return {lines.begin(), lines.end()};
}

std::vector<std::string> interpreter_lines(const profile::Recording& recording) {
  std::vector<std::string> lines;
  for (const Interpreter& interpreter : recording.interpreters) {
    if (misses_something(interpreter)) lines.push_back(line_of(interpreter));
  }
  std::uint64_t unread = 0;
  for (const Process& process : recording.processes) unread += process.unread_stacks;
  if (unread != 0) {
    lines.push_back(fmt::format("{} without Python frames, which could not be read at that instant",
                                unread == 1 ? "1 stack is" : exact_count(unread) + " stacks are"));
  }
  std::ranges::sort(lines);
  lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
  return lines;
}

const Fields<InterpreterOf>& fields_of(Of<InterpreterOf> /*type*/) {
  static const auto kFields =
      Fields<InterpreterOf>("interpreter")
          .field("pid", "",
                 [](const InterpreterOf& it) {
                   return it.recording.processes[it.interpreter.process].pid;
                 })
          .field("language", "", [](const InterpreterOf&) { return "python"; })
          .one_of({"python"})
          .field("version", "",
                 [](const InterpreterOf& it) { return python_version(it.interpreter.version); })
          .field("frames", "`recorded`, or why stacks lack them",
                 [](const InterpreterOf& it) { return words_of(it.interpreter.frames).key; })
          .one_of(keys_of<InterpretedFrames>())
          .field("small_objects", "`sampled`, `by_malloc`, or why they are not sampled",
                 [](const InterpreterOf& it) { return words_of(it.interpreter.small_objects).key; })
          .one_of(keys_of<SmallObjects>())
          .field("unread_stacks",
                 "stacks without its frames, which could not be read at that instant",
                 [](const InterpreterOf& it) {
                   return it.recording.processes[it.interpreter.process].unread_stacks;
                 });
  return kFields;
}

}  // namespace geiger::present
