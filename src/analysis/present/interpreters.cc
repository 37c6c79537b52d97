#include "analysis/present/interpreters.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace geiger::present {
namespace {

using profile::Interpreter;
using vocabulary::InterpretedFrames;
using vocabulary::SmallObjects;

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

}  // namespace

std::string python_version(std::uint32_t version) {
  return fmt::format("{}.{}.{}", version >> 24, version >> 16 & 0xff, version >> 8 & 0xff);
}

bool misses_something(const Interpreter& interpreter) {
  return interpreter.frames != InterpretedFrames::kRecorded || misses_small_objects(interpreter);
}

std::vector<std::string> interpreter_lines(const profile::Recording& recording) {
  std::vector<std::string> lines;
  for (const Interpreter& interpreter : recording.interpreters) {
    if (misses_something(interpreter)) lines.push_back(line_of(interpreter));
  }
  std::ranges::sort(lines);
  const auto [first, last] = std::ranges::unique(lines);
  lines.erase(first, last);
  return lines;
}

void write_interpreters(JsonWriter& json, const profile::Recording& recording) {
  if (recording.interpreters.empty()) return;
  json.array("interpreters", recording.interpreters, [&](const Interpreter& interpreter) {
    json.begin_object().field("pid", recording.processes[interpreter.process].pid);
    json.field("language", "python").field("version", python_version(interpreter.version));
    json.field("frames", vocabulary::words_of(interpreter.frames).key);
    json.field("small_objects", vocabulary::words_of(interpreter.small_objects).key);
    json.end_object();
  });
}

}  // namespace geiger::present
