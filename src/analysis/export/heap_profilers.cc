#include "analysis/export/heap_profilers.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/export/shown_stacks.h"
#include "analysis/export/streams/sink.h"
#include "analysis/profile/select/gaps.h"
#include "analysis/profile/select/thinned.h"
#include "analysis/profile/select/totals.h"
#include "base/utf8_text.h"
#include "estimation/counts.h"
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

namespace {

using estimation::Count;
using profile::Kind;
using profile::Recording;

constexpr Nanoseconds kMillisecond = 1'000'000;
constexpr Bytes kSystemPage = 4096;
/// Comments, which readers of the format skip and analysis/import/heaptrack reads: once, with the
/// mean bytes between samples where they are sparsest; and below each block, with the number, size
/// and rate of the samples behind it.
constexpr std::string_view kEstimatesComment = "# geiger: estimates from samples, one byte in";
constexpr std::string_view kSamplesComment = "# samples:";

/// A line of its own cannot hold a line's end; other controls go with it.
std::string line_text(std::string_view text) {
  std::string line = to_valid_utf8(text);
  for (char& c : line) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  return line;
}

/// Numbers are hexadecimal; indexes count from 1, with 0 for nothing, those of blocks from 0.
class HeaptrackWriter {
 public:
  HeaptrackWriter(const Recording& recording, const Sink& sink)
      : recording_(recording),
        sink_(sink),
        start_(profile::start_of(recording)),
        shown_(recording),
        has_errors_(!profile::is_any_without_errors(recording)) {}

  void begin(const std::string& command) {
    line("v {:x} {:x}", 0x10400, 3);
    line("X {}", line_text(command));
    if (has_errors_)
      line("{} {}", kEstimatesComment,
           std::max(1.0, profile::largest_interval_of_fates(recording_)));
    line("I {:x} {:x}", kSystemPage, 0);
  }

  void at(Nanoseconds time) {
    const Nanoseconds now = (time - std::min(time, start_)) / kMillisecond;
    if (now == time_) return;
    time_ = now;
    line("c {:x}", now);
  }

  /// `kind`: the samples behind the bytes.
  void allocate(std::uint32_t stack, std::int64_t bytes, const Count& kind) {
    line("+ {:x}", block(stack, static_cast<std::uint64_t>(bytes), kind));
  }
  void free(std::uint32_t stack, std::int64_t bytes, const Count& kind) {
    line("- {:x}", block(stack, static_cast<std::uint64_t>(bytes), kind));
  }

  void finish() {
    sink_(out_);
    out_.clear();
  }

 private:
  template <typename... Values>
  void line(fmt::format_string<Values...> format, Values&&... values) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Values>(values)...);
    out_ += '\n';
    if (out_.size() >= kFlushAt) finish();
  }

  /// The number of the block of these bytes, samples and stack.
  std::uint64_t block(std::uint32_t stack, std::uint64_t bytes, const Count& kind) {
    const std::uint64_t trace = trace_of(stack);
    const double rate = effective_rate(kind);
    const auto [place, is_new] =
        blocks_.try_emplace({trace, bytes, kind.size, kind.count, rate}, blocks_.size());
    if (is_new) {
      line("a {:x} {:x}", bytes, trace);
      if (has_errors_) line("{} {} {} {}", kSamplesComment, kind.count, kind.size, rate);
    }
    return place->second;
  }

  std::uint64_t trace_of(std::uint32_t stack) {
    const auto known = traces_.find(stack);
    if (known != traces_.end()) return known->second;
    std::uint64_t trace = 0;
    for (const auto& location : locations_of(stack)) trace = node(trace, instruction(location));
    return traces_[stack] = trace;
  }

  /// A stack's frames, root first, those of one location together.
  std::vector<std::vector<std::uint32_t>> locations_of(std::uint32_t stack) {
    std::vector<std::vector<std::uint32_t>> locations;
    for (const std::uint32_t frame : shown_.path_of(stack)) {
      if (shown_.frames()[frame].inline_depth == 0) locations.emplace_back();
      locations.back().push_back(frame);
    }
    return locations;
  }

  std::uint64_t node(std::uint64_t parent, std::uint64_t instruction) {
    const auto [place, is_new] = nodes_.try_emplace({parent, instruction}, nodes_.size() + 1);
    if (is_new) line("t {:x} {:x}", instruction, parent);
    return place->second;
  }

  /// `frames` of one location, outermost first; the format wants the innermost first.
  std::uint64_t instruction(const std::vector<std::uint32_t>& frames) {
    const auto [place, is_new] =
        instructions_.try_emplace(frames.front(), instructions_.size() + 1);
    if (!is_new) return place->second;
    const std::uint32_t location = shown_.frames()[frames.front()].location;
    // Of a mark, and of interpreted code; it has to differ from others.
    Address address = frames.front() + 1;
    std::uint64_t module = 0;
    if (location != profile::kNone) {
      const profile::Location& known = recording_.locations[location];
      const bool has_module = known.module < recording_.modules.size();
      if (!recording_.is_source(known)) {
        address = known.vaddr + (has_module ? recording_.modules[known.module].bias : 0);
      }
      if (has_module) module = string(recording_.modules[known.module].path);
    }
    std::string text = fmt::format("i {:x} {:x}", address, module);
    for (auto at = frames.rbegin(); at != frames.rend(); ++at) {
      const ShownFunction& function = shown_.function_of(*at);
      // Texts are numbered in this order, whatever order arguments are evaluated in.
      const std::uint64_t name = string(function.name);
      const std::uint64_t file = string(function.file);
      fmt::format_to(std::back_inserter(text), " {:x} {:x} {:x}", name, file,
                     shown_.frames()[*at].line);
    }
    line("{}", text);
    return place->second;
  }

  /// 0 of an empty text.
  std::uint64_t string(const std::string& text) {
    if (text.empty()) return 0;
    const auto [place, is_new] = strings_.try_emplace(line_text(text), strings_.size() + 1);
    if (is_new) line("s {:x} {}", place->first.size(), place->first);
    return place->second;
  }

  const Recording& recording_;
  const Sink& sink_;
  const Nanoseconds start_;
  ShownStacks shown_;
  const bool has_errors_;  ///< Else there is nothing to write of them.
  std::string out_;
  Nanoseconds time_ = 0;  ///< Of the last line with a time, in milliseconds.
  std::unordered_map<std::string, std::uint64_t> strings_;
  std::map<std::uint32_t, std::uint64_t> instructions_;  ///< By their outermost frame.
  using Pair = std::pair<std::uint64_t, std::uint64_t>;
  std::map<Pair, std::uint64_t> nodes_;  ///< By parent and instruction.
  /// By trace, bytes, and size, number and rate of samples.
  using Block = std::tuple<std::uint64_t, std::uint64_t, Bytes, std::uint64_t, double>;
  std::map<Block, std::uint64_t> blocks_;
  std::unordered_map<std::uint32_t, std::uint64_t> traces_;  ///< By stack.
};

void write_lives(HeaptrackWriter& writer, const std::vector<Life>& lives) {
  std::vector<double> bytes;
  bytes.reserve(lives.size());
  for (const Life& life : lives) bytes.push_back(life.bytes);
  const std::vector<std::int64_t> rounded = estimation::round_to_total(bytes);
  for (const Event& event : events_of(lives)) {
    const Life& life = lives[event.life];
    Count kind = life.kind;
    kind.count = 1;
    writer.at(event.time);
    if (event.is_free) {
      writer.free(life.sample->stack, rounded[event.life], kind);
    } else {
      writer.allocate(life.sample->stack, rounded[event.life], kind);
    }
  }
}

/// Samples alike that were counted only, by stack.
class CountedSamples {
 public:
  void add(const Recording& recording, const profile::Sample& alike, std::uint64_t count) {
    const Count kind = profile::count_of_fate(recording, alike);
    if (count > 0) samples_[{alike.stack, kind.size, kind.lambda, kind.keep}] += count;
  }

  /// `write(stack, bytes, kind)`, whose bytes add up to the rounded estimate.
  template <typename Write>
  void for_each(const Write& write) const {
    std::vector<Count> kinds;
    std::vector<double> bytes;
    for (const auto& [key, count] : samples_) {
      const auto& [stack, size, lambda, keep] = key;
      estimation::NodeSums sums;
      kinds.push_back({.size = size, .lambda = lambda, .count = count, .keep = keep});
      estimation::add(sums, kinds.back(), count);
      bytes.push_back(sums.all_bytes());
    }
    const std::vector<std::int64_t> rounded = estimation::round_to_total(bytes);
    std::size_t next = 0;
    for (const auto& [key, count] : samples_) {
      write(std::get<0>(key), rounded[next], kinds[next]);
      ++next;
    }
  }

 private:
  std::map<std::tuple<std::uint32_t, Bytes, double, double>, std::uint64_t> samples_;
};

/// What was counted only: what is live of each stack, and what was freed. Of thinned processes the
/// samples whose frees are recorded stand for all, as in followed ones.
void write_counted(HeaptrackWriter& writer, const Recording& recording,
                   const profile::Selection& part) {
  CountedSamples live, freed;
  const profile::Chosen at_end = choose(recording, of_kind(part, Kind::kLiveAtEnd));
  for (const profile::Sample* sample : at_end.samples) live.add(recording, *sample, 1);
  for (const profile::Tally* tally : at_end.tallies) {
    live.add(recording, tally->alike, count_of(*tally, Kind::kLiveAtEnd));
  }
  profile::Selection allocated = of_kind(part, Kind::kAllocated);
  allocated.splits_by_lifetime = true;
  for (const profile::Sample* sample : choose(recording, allocated).samples) {
    freed.add(recording, *sample, sample->free_time != 0 ? 1 : 0);
  }
  allocated.splits_by_lifetime = false;  // Tallies do not contain it.
  for (const profile::Tally* tally : choose(recording, allocated).tallies) {
    if (tally->is_tracked) freed.add(recording, tally->alike, tally->freed);
  }
  live.for_each([&](std::uint32_t stack, std::int64_t bytes, const Count& kind) {
    writer.allocate(stack, bytes, kind);
  });
  freed.for_each([&](std::uint32_t stack, std::int64_t bytes, const Count& kind) {
    writer.allocate(stack, bytes, kind);
    writer.free(stack, bytes, kind);
  });
}

}  // namespace

void write_heaptrack(const Recording& recording, const profile::Selection& part,
                     const std::string& command, const Sink& sink) {
  HeaptrackWriter writer(recording, sink);
  writer.begin(command);
  if (recording.tallies.empty()) {
    write_lives(writer, lives_of(recording, part));
    writer.at(profile::start_of(recording) + profile::duration_of(recording));
  } else {
    write_counted(writer, recording, part);
  }
  writer.finish();
}

}  // namespace geiger::exports
