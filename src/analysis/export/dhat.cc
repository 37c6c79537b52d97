#include "analysis/export/dhat.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "analysis/export/lives.h"
#include "analysis/export/program.h"
#include "analysis/export/shown_stacks.h"
#include "analysis/export/stack_sums.h"
#include "analysis/export/streams/json_stream.h"
#include "analysis/profile/totals.h"
#include "estimation/rounding.h"

namespace geiger::exports {
namespace {

using profile::Kind;
using profile::Profile;
using profile::Recording;

constexpr Nanoseconds kMicrosecond = 1000;
/// Lives shorter than this are short in its lists, in microseconds: what geiger calls temporary.
constexpr int kShortLife = 1000;

/// Bytes and blocks of each program point, as integers.
struct Column {
  std::vector<std::int64_t> bytes, blocks;
};

/// Values of the program points before rounding, by their index.
struct Values {
  explicit Values(std::size_t points) : bytes(points), blocks(points) {}
  std::vector<double> bytes, blocks;

  [[nodiscard]] Column rounded() const {
    return {estimation::round_to_total(bytes), estimation::round_to_total(blocks)};
  }
};

/// The stacks of everything that is written, numbered.
class Points {
 public:
  void add(const std::vector<StackSums>& stacks) {
    for (const StackSums& each : stacks) {
      if (each.sums.all_objects() > 0) index_.try_emplace(each.stack, 0);
    }
  }
  void number() {
    std::size_t next = 0;
    for (auto& [stack, index] : index_) index = next++;
  }
  [[nodiscard]] std::size_t size() const { return index_.size(); }
  [[nodiscard]] std::size_t at(std::uint32_t stack) const { return index_.at(stack); }
  [[nodiscard]] bool has(std::uint32_t stack) const { return index_.contains(stack); }
  [[nodiscard]] const std::map<std::uint32_t, std::size_t>& stacks() const { return index_; }

  [[nodiscard]] Values values_of(const std::vector<StackSums>& stacks) const {
    Values values(size());
    for (const StackSums& each : stacks) {
      if (!has(each.stack)) continue;
      values.bytes[at(each.stack)] = each.sums.all_bytes();
      values.blocks[at(each.stack)] = each.sums.all_objects();
    }
    return values;
  }

 private:
  std::map<std::uint32_t, std::size_t> index_;
};

/// The largest that each point had at once.
Values maxima_of(const std::vector<Life>& lives, const Points& points) {
  Values now(points.size());
  Values most(points.size());
  for (const Event& event : events_of(lives)) {
    const Life& life = lives[event.life];
    const std::size_t point = points.at(life.sample->stack);
    const double sign = event.is_free ? -1 : 1;
    now.bytes[point] += sign * life.bytes;
    now.blocks[point] += sign * life.objects;
    if (now.bytes[point] <= most.bytes[point]) continue;
    most.bytes[point] = now.bytes[point];
    most.blocks[point] = now.blocks[point];
  }
  return most;
}

/// Blocks times microseconds that each point's blocks lived, or were watched.
std::vector<std::int64_t> lifetimes_of(const Recording& recording, const std::vector<Life>& lives,
                                       const Points& points) {
  std::vector<double> sums(points.size());
  for (const Life& life : lives) {
    const profile::Sample& sample = *life.sample;
    const Nanoseconds end =
        sample.free_time != 0 ? sample.free_time : recording.processes[sample.process].end;
    const Nanoseconds lived = end - std::min(end, sample.time);
    sums[points.at(sample.stack)] +=
        life.objects * static_cast<double>(lived) / static_cast<double>(kMicrosecond);
  }
  return estimation::round_to_total(sums);
}

Nanoseconds since_start(const Recording& recording, Nanoseconds time) {
  const Nanoseconds start = profile::start_of(recording);
  return (time - std::min(time, start)) / kMicrosecond;
}

class DhatWriter {
 public:
  DhatWriter(const Recording& recording, const Points& points, const Sink& sink)
      : recording_(recording), points_(points), sink_(sink), shown_(recording) {}

  void begin(bool has_lives, const char* verb, const std::string& command) {
    json_.begin_object().field("dhatFileVersion", 2);
    json_.field("mode", "heap").field("verb", verb);
    json_.field("bklt", has_lives).field("bkacc", false);
    json_.field("tu", "\u00b5s").field("Mtu", "s");
    if (has_lives) json_.field("tuth", kShortLife);
    const profile::Process* first = first_process(recording_);
    json_.field("cmd", command).field("pid", first == nullptr ? 0U : first->pid);
    json_.field("te", profile::duration_of(recording_) / kMicrosecond);
  }

  void peak_at(Nanoseconds time) { json_.field("tg", since_start(recording_, time)); }

  template <typename WriteNumbers>
  void write_points(const WriteNumbers& write_numbers) {
    json_.key("pps").begin_array();
    for (const auto& [stack, index] : points_.stacks()) {
      json_.begin_object();
      write_numbers(json_, index);
      json_.key("fs").begin_array();
      const std::vector<std::uint32_t> path = shown_.path_of(stack);
      // Leaf first; entry 0 of the table is the root.
      for (auto at = path.rbegin(); at != path.rend(); ++at) json_.integer(*at + 1);
      json_.end_array().end_object();
      pass_on(json_, sink_);
    }
    json_.end_array();
  }

  void finish() {
    json_.key("ftbl").begin_array().string("[root]");
    for (const ShownFrame& frame : shown_.frames()) {
      json_.string(text_of(frame));
      pass_on(json_, sink_);
    }
    json_.end_array().end_object();
    sink_(json_.take());
  }

 private:
  [[nodiscard]] std::string text_of(const ShownFrame& frame) const {
    const ShownFunction& function = shown_.functions()[frame.function];
    Address address = 0;
    if (frame.location != profile::kNone) {
      const profile::Location& location = recording_.locations[frame.location];
      const bool has_module = location.module < recording_.modules.size();
      address = location.vaddr + (has_module ? recording_.modules[location.module].bias : 0);
    }
    const std::string place = function.file.empty()
                                  ? module_of(function)
                                  : fmt::format("{}:{}", function.file, frame.line);
    return fmt::format("{:#x}: {} ({})", address, function.name, place);
  }

  [[nodiscard]] std::string module_of(const ShownFunction& function) const {
    const bool is_known = function.module < recording_.modules.size();
    return is_known ? "in " + recording_.modules[function.module].path : "???";
  }

  const Recording& recording_;
  const Points& points_;
  const Sink& sink_;
  ShownStacks shown_;
  present::JsonWriter json_;
};

void write_pair(present::JsonWriter& json, const char* bytes, const char* blocks,
                const Column& column, std::size_t index) {
  json.field(bytes, column.bytes[index]).field(blocks, column.blocks[index]);
}

Nanoseconds largest_peak_of(const Profile& peak) {
  return peak.peak_times.empty() ? 0 : std::ranges::max(peak.peak_times);
}

}  // namespace

void write_dhat(const Recording& recording, const profile::Selection& part,
                const std::string& command, const Sink& sink) {
  const Profile peak = select(recording, of_kind(part, Kind::kLiveAtPeak));
  const auto total = sums_in_order(recording, select(recording, of_kind(part, Kind::kAllocated)));
  const auto at_peak = sums_in_order(recording, peak);
  const auto at_end = sums_in_order(recording, select(recording, of_kind(part, Kind::kLiveAtEnd)));
  const std::vector<Life> lives = lives_of(recording, part);
  Points points;
  for (const auto* stacks : {&total, &at_peak, &at_end}) points.add(*stacks);
  points.number();
  const Values peak_values = points.values_of(at_peak);
  const Values end_values = points.values_of(at_end);
  Values most = maxima_of(lives, points);
  for (std::size_t i = 0; i < points.size(); ++i) {
    most.bytes[i] = std::max({most.bytes[i], peak_values.bytes[i], end_values.bytes[i]});
    most.blocks[i] = std::max({most.blocks[i], peak_values.blocks[i], end_values.blocks[i]});
  }
  const Column allocated = points.values_of(total).rounded();
  const Column maximum = most.rounded();
  const Column then = peak_values.rounded();
  const Column last = end_values.rounded();
  const std::vector<std::int64_t> lifetimes = lifetimes_of(recording, lives, points);
  DhatWriter writer(recording, points, sink);
  writer.begin(true, "Allocated", command);
  writer.peak_at(largest_peak_of(peak));
  writer.write_points([&](present::JsonWriter& json, std::size_t index) {
    write_pair(json, "tb", "tbk", allocated, index);
    json.field("tl", lifetimes[index]);
    write_pair(json, "mb", "mbk", maximum, index);
    write_pair(json, "gb", "gbk", then, index);
    write_pair(json, "eb", "ebk", last, index);
  });
  writer.finish();
}

void write_dhat_of(const Recording& recording, const Profile& profile, const std::string& command,
                   const Sink& sink) {
  const auto stacks = sums_in_order(recording, profile);
  Points points;
  points.add(stacks);
  points.number();
  const Column column = points.values_of(stacks).rounded();
  DhatWriter writer(recording, points, sink);
  writer.begin(false, profile.kind == Kind::kAllocated ? "Allocated" : "Held", command);
  writer.write_points([&](present::JsonWriter& json, std::size_t index) {
    write_pair(json, "tb", "tbk", column, index);
  });
  writer.finish();
}

}  // namespace geiger::exports
