#include "analysis/export/sql/rows.h"

#include <fmt/format.h>

#include <iterator>
#include <vector>

#include "analysis/export/shown_stacks.h"
#include "analysis/export/streams/sink.h"
#include "analysis/present/function_names.h"
#include "analysis/present/measure.h"
#include "base/utf8.h"

namespace geiger::exports {
namespace {

using profile::Profile;
using profile::Recording;

constexpr std::string_view kHeader =
    "kind,stack,n,certain,bytes,bytes_variance,bytes_lo,bytes_hi,"
    "objects,objects_variance,objects_lo,objects_hi,bytes_open,objects_open\r\n";

void append_byte(std::string& out, unsigned char byte) {
  fmt::format_to(std::back_inserter(out), "\\x{:02x}", byte);
}

void append_escaped(std::string& out, std::string_view character, const CodePoint& point) {
  const bool is_control = point.value < 0x20 || (point.value >= 0x7f && point.value < 0xa0);
  if (point.value == U'\n') {
    out += "\\n";
  } else if (point.value == U'\r') {
    out += "\\r";
  } else if (point.value == U'\t') {
    out += "\\t";
  } else if (point.value == U'\\' || point.value == U';') {
    (out += '\\') += character;
  } else if (is_control || !point.is_valid) {
    for (const char byte : character) append_byte(out, static_cast<unsigned char>(byte));
  } else {
    out += character;
  }
}

std::string stack_cell(ShownStacks& shown, std::uint32_t stack) {
  std::string cell;
  for (const std::uint32_t frame : shown.path_of(stack)) {
    if (!cell.empty()) cell += ';';
    cell += escaped_frame(shown.function_of(frame).name);
  }
  return cell;
}

void append_estimate(std::string& out, const estimation::Estimate& estimate) {
  fmt::format_to(std::back_inserter(out), ",{},{},{},{}", estimate.value, estimate.variance,
                 estimate.interval.lo, estimate.interval.hi);
}

}  // namespace

std::string escaped_frame(std::string_view name) {
  std::string out;
  for (std::string_view rest = name; !rest.empty();) {
    const CodePoint point = decode_utf8(rest);
    append_escaped(out, rest.substr(0, point.length), point);
    rest.remove_prefix(point.length);
  }
  return out;
}

std::string plain_cell(std::string_view text) {
  constexpr std::string_view kActive = "=+-@'\t\r";
  std::string cell;
  if (!text.empty() && kActive.find(text.front()) != std::string_view::npos) cell = "'";
  cell += text;
  if (cell.find_first_of(",\"\r\n") == std::string::npos) return cell;
  std::string quoted = "\"";
  for (const char c : cell) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

void write_csv(const Recording& recording, const Profile& profile, double level, const Sink& sink) {
  ShownStacks shown(recording);
  std::string out(kHeader);
  for (const StackSums& each : sums_in_order(recording, profile)) {
    const present::Measure measure = present::measure_row(each.sums, level);
    fmt::format_to(std::back_inserter(out), "{},{},{},{}", profile::name_of(profile.kind),
                   plain_cell(stack_cell(shown, each.stack)), measure.samples,
                   measure.certain_samples);
    append_estimate(out, measure.bytes);
    append_estimate(out, measure.objects);
    fmt::format_to(std::back_inserter(out), ",{},{}\r\n", measure.bytes.open, measure.objects.open);
    if (out.size() < kFlushAt) continue;
    sink(out);
    out.clear();
  }
  sink(out);
}

void write_json_lines(const Recording& recording, const Profile& profile,
                      const present::Scope& scope, double level, const Sink& sink) {
  present::JsonWriter json;
  json.begin_object().field("schema_version", present::kSchemaVersion).field("line", "profile");
  json.field("kind", profile::name_of(profile.kind)).field("level", level);
  if (const profile::Process* first = first_process(recording)) {
    json.field("program", first->executable).field("pid", first->pid);
  }
  write_fields(json, scope);
  const std::vector<StackSums> stacks = sums_in_order(recording, profile);
  json.field("stacks", stacks.size());
  present::write_fields(json, present::measure_total(recording, profile, level));
  sink(json.end_object().take());
  for (const StackSums& each : stacks) {
    json.begin_object().field("line", "stack");
    present::write_fields(json, present::measure_row(each.sums, level));
    if (each.stack < recording.stacks.size()) {
      write_fields(json, present::StackOf{recording, each.stack});
    } else {
      json.key("stack").begin_array().end_array().field("is_truncated", false);
    }
    sink(json.end_object().take());
  }
}

}  // namespace geiger::exports
