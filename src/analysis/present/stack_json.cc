#include "analysis/present/stack_json.h"

#include "analysis/profile/labels.h"
#include "base/check.h"

namespace geiger::present {
namespace {

using profile::Location;
using profile::Recording;

void write_place(JsonWriter& json, const Recording& recording, const Location& location) {
  if (location.module < recording.modules.size()) {
    json.field("module", recording.modules[location.module].path);
  }
  if (!recording.is_source(location)) json.field("address", location.vaddr);
  json.end_object();
}

void write_location(JsonWriter& json, const Recording& recording, const Location& location) {
  if (location.frames.empty()) {
    json.begin_object().field("function", profile::address_name(recording, location));
    write_place(json, recording, location);
  }
  for (const std::uint32_t index : location.frames) {
    const profile::Frame& frame = recording.frames[index];
    json.begin_object().field("function", frame.function);
    write_field(json, profile::source_line_of(recording, index));
    write_place(json, recording, location);
  }
}

}  // namespace

void write_stack(JsonWriter& json, const Recording& recording, std::uint32_t stack) {
  GEIGER_CHECK(stack < recording.stacks.size());
  json.array("stack", recording.stacks[stack].locations, [&](const std::uint32_t location) {
    write_location(json, recording, recording.locations[location]);
  });
  json.field("is_truncated", recording.stacks[stack].is_truncated);
}

void write_field(JsonWriter& json, const profile::SourceLine& where) {
  if (where.file.empty()) return;
  json.field("file", where.file);
  if (where.line != 0) json.field("line", where.line);
  if (where.others != 0) json.field("other_lines", where.others);
}

}  // namespace geiger::present
