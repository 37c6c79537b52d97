#include "openmetrics/open_metrics.h"

#include <charconv>
#include <string_view>

#include "base/utf8.h"
#include "base/utf8_text.h"

namespace geiger::openmetrics {
namespace {

std::string number(double value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

/// The text "\x1b" or "\u202e", as reports show such a character: the format has no escape for it.
void append_shown(std::string& out, char32_t value) {
  constexpr int kHexadecimal = 16;
  char digits[8];
  const char* const end =
      std::to_chars(digits, digits + sizeof digits, std::uint32_t{value}, kHexadecimal).ptr;
  const auto count = static_cast<std::size_t>(end - digits);
  const std::size_t least = is_control(value) ? 2 : 4;
  out += is_control(value) ? "\\\\x" : "\\\\u";
  out.append(count < least ? least - count : 0, '0').append(digits, count);
}

void append_escaped(std::string& out, std::string_view text) {
  while (!text.empty()) {
    const CodePoint point = decode_utf8(text);
    if (!point.is_valid) {
      out += "\xef\xbf\xbd";
    } else if (text.front() == '\n') {
      out += "\\n";
    } else if (is_acting(point.value)) {
      append_shown(out, point.value);
    } else {
      if (text.front() == '"' || text.front() == '\\') out += '\\';
      out += text.substr(0, point.length);
    }
    text.remove_prefix(point.length);
  }
}

std::string labels_of(const Process& process) {
  std::string text;
  for (const auto& [name, value] : process.labels) {
    text += text.empty() ? "{" : ",";
    text += name + "=\"";
    append_escaped(text, value);
    text += '"';
  }
  return text.empty() ? text : text + "}";
}

struct Family {
  const char* name;
  const char* type;
  const char* unit;
  const char* help;
};

/// Writes a family with the processes that have a value of it; none: no family.
template <typename Value>
void write(std::string& out, const std::vector<Process>& processes, const Family& family,
           const Value& value_of) {
  const std::string name = std::string("geiger_") + family.name;
  bool is_begun = false;
  for (const Process& process : processes) {
    const std::optional<double> value = value_of(process);
    if (!value) continue;
    if (!is_begun) {
      out += "# TYPE " + name + " " + family.type + "\n";
      if (*family.unit != '\0') out += "# UNIT " + name + " " + family.unit + "\n";
      out += "# HELP " + name + " " + family.help + "\n";
      is_begun = true;
    }
    const bool is_counter = std::string_view(family.type) == "counter";
    out += name + (is_counter ? "_total" : "") + labels_of(process) + " " + number(*value) + "\n";
  }
}

/// One end of an interval, or its middle.
auto part_of(std::optional<Estimate> Process::*estimate, double Estimate::*part) {
  return [=](const Process& process) -> std::optional<double> {
    const auto& found = process.*estimate;
    return found ? std::optional((*found).*part) : std::nullopt;
  };
}

template <typename Number>
auto known(std::optional<Number> Process::*value) {
  return [=](const Process& process) -> std::optional<double> {
    const auto& found = process.*value;
    return found ? std::optional(static_cast<double>(*found)) : std::nullopt;
  };
}

template <typename Number>
auto always(Number Process::*value) {
  return [=](const Process& process) { return std::optional(static_cast<double>(process.*value)); };
}

void write_live(std::string& out, const std::vector<Process>& all) {
  constexpr auto kBytes = &Process::live_bytes;
  constexpr auto kObjects = &Process::live_objects;
  write(out, all, {"live_heap_bytes", "gauge", "bytes", "Live heap, requested bytes: estimate."},
        part_of(kBytes, &Estimate::value));
  write(out, all,
        {"live_heap_lower_bytes", "gauge", "bytes", "Live heap: lower end of the interval."},
        part_of(kBytes, &Estimate::lowest));
  write(out, all,
        {"live_heap_upper_bytes", "gauge", "bytes", "Live heap: upper end of the interval."},
        part_of(kBytes, &Estimate::highest));
  write(out, all, {"live_heap_objects", "gauge", "objects", "Live objects: estimate."},
        part_of(kObjects, &Estimate::value));
  write(out, all,
        {"live_heap_lower_objects", "gauge", "objects", "Live objects: lower end of the interval."},
        part_of(kObjects, &Estimate::lowest));
  write(out, all,
        {"live_heap_upper_objects", "gauge", "objects", "Live objects: upper end of the interval."},
        part_of(kObjects, &Estimate::highest));
}

void write_counts(std::string& out, const std::vector<Process>& all) {
  write(out, all,
        {"allocated_bytes", "counter", "bytes",
         "Requested of the allocator: exact but for geiger_allocated_missing_bytes."},
        known(&Process::allocated));
  write(out, all,
        {"allocated_missing_bytes", "gauge", "bytes",
         "At most so much is missing in geiger_allocated_bytes."},
        [](const Process& process) {
          const auto missing = static_cast<double>(process.missing);
          return process.allocated ? std::optional(missing) : std::nullopt;
        });
  write(out, all, {"samples", "counter", "", "Samples taken."}, known(&Process::samples));
  write(out, all, {"live_samples", "gauge", "", "Samples of live objects."},
        always(&Process::live_samples));
  write(out, all, {"guard_chosen_samples", "counter", "samples", "Samples that guard mode chose."},
        known(&Process::guard_chosen));
  write(out, all,
        {"guarded_samples", "counter", "samples",
         "Of these, guarded: wrong uses of the others are not seen."},
        known(&Process::guarded));
  write(out, all,
        {"dropped_records", "counter", "records",
         "Records lost, of all causes: estimates miss them."},
        always(&Process::dropped));
}

}  // namespace

std::string text_of(const std::vector<Process>& processes, double level,
                    const std::string& version) {
  std::string out;
  write_live(out, processes);
  write_counts(out, processes);
  write(out, processes,
        {"sampling_interval_bytes", "gauge", "bytes", "Mean bytes between two samples."},
        always(&Process::interval));
  write(out, processes,
        {"resident_memory_bytes", "gauge", "bytes", "Resident memory of the process."},
        known(&Process::resident));
  write(out, processes, {"recording", "gauge", "", "1: samples are taken now."},
        always(&Process::is_recording));
  const std::vector<Process> whole(1);
  write(out, whole,
        {"confidence_level_ratio", "gauge", "ratio",
         "Of the intervals between lower and upper ends."},
        [level](const Process&) { return std::optional(level); });
  Process build;
  build.labels = {{"version", version}};
  out += "# TYPE geiger_build info\n# HELP geiger_build Version of geiger.\ngeiger_build_info" +
         labels_of(build) + " 1\n";
  return out + "# EOF\n";
}

}  // namespace geiger::openmetrics
