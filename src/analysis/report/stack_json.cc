#include "analysis/report/stack_json.h"

#include <string>

#include "analysis/profile/labels.h"

namespace geiger::report {
namespace {

using profile::Location;
using profile::Recording;

void write_place(JsonWriter& json, const Recording& recording, const Location& location) {
  if (location.module < recording.modules.size()) {
    json.field("module", recording.modules[location.module].path);
  }
  json.field("address", location.vaddr).end_object();
}

void write_location(JsonWriter& json, const Recording& recording, const Location& location) {
  if (location.frames.empty()) {
    json.begin_object().field("function", profile::address_name(recording, location));
    write_place(json, recording, location);
  }
  for (const std::uint32_t index : location.frames) {
    const profile::Frame& frame = recording.frames[index];
    json.begin_object().field("function", frame.function);
    if (!frame.file.empty()) json.field("file", frame.file);
    if (frame.line != 0) json.field("line", frame.line);
    write_place(json, recording, location);
  }
}

}  // namespace

void write_stack(JsonWriter& json, const Recording& recording, std::uint32_t stack) {
  json.key("stack").begin_array();
  for (const std::uint32_t location : recording.stacks[stack].locations) {
    write_location(json, recording, recording.locations[location]);
  }
  json.end_array().field("is_truncated", recording.stacks[stack].is_truncated);
}

}  // namespace geiger::report
