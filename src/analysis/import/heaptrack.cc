#include "analysis/import/heaptrack.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "estimation/counts.h"

namespace geiger::imports {
namespace {

using ingest::Error;
using profile::kNone;

constexpr std::string_view kVersionLine = "v ";
constexpr std::uint64_t kFirstVersion = 1, kLastVersion = 3;
constexpr Nanoseconds kMillisecond = 1'000'000;
constexpr std::uint64_t kLongestRun = std::uint64_t{1} << 40;  // 35 years, in milliseconds.
/// Deeper stacks are a loop, or as good as one.
constexpr std::size_t kDeepest = 4096;
/// Of all stacks together, half a GiB.
constexpr std::size_t kMostLocations = std::size_t{1} << 27;

struct TraceNode {
  std::uint32_t instruction = 0;
  std::uint32_t parent = 0;
};

/// As analysis/export/heaptrack writes them.
constexpr std::string_view kEstimatesComment = "# geiger: estimates from samples, one byte in";
constexpr std::string_view kSamplesComment = "# samples:";
/// Of exports without these comments.
constexpr std::string_view kEstimatesCommand = "estimated by geiger";

/// Allocations of one size at one trace. Where geiger wrote it, each is this many samples.
struct Block {
  Bytes size = 0;
  std::uint32_t trace = 0;
  std::uint64_t samples = 1;
  double rate = estimation::kCertainRate;  ///< Of the trials that drew the samples.
  std::uint32_t stack = kNone;             ///< Of the recording, once it was needed.
  std::vector<std::uint32_t> live;         ///< Samples, youngest last; while they are followed.
  std::uint64_t allocated = 0, freed = 0;
};

class HeaptrackReader {
 public:
  HeaptrackReader(Lines& lines, profile::Recording& recording, ForeignProcess& process,
                  Origin& origin, std::size_t most_followed)
      : lines_(lines),
        recording_(recording),
        process_(process),
        origin_(origin),
        most_followed_(most_followed),
        first_sample_(recording.samples.size()) {}

  ingest::FileOutcome read() {
    process_.process().is_aggregated = false;
    while (const auto line = lines_.next()) {
      read_line(*line);
      if (error_) break;
    }
    if (!error_) error_ = lines_.error();
    finish();
    if (error_) return *error_;
    return {};
  }

 private:
  void fail(std::string_view reason) {
    if (!error_) {
      error_ = Error{"", std::nullopt, fmt::format("line {}: {}", lines_.number(), reason)};
    }
  }

  void read_line(std::string_view line) {
    if (line.empty()) return;
    std::string_view rest = line.substr(1);
    switch (line[0]) {
      case '#':
        return read_comment(line);
      case 'v':
        return read_version(rest);
      case 'X':
        return read_command(rest);
      case 's':
        return read_string(rest);
      case 'i':
        return read_instruction(rest);
      case 't':
        return read_trace(rest);
      case 'a':
        return read_block(rest);
      case '+':
        return read_event(rest, &HeaptrackReader::allocate);
      case '-':
        return read_event(rest, &HeaptrackReader::free);
      case 'c':
        return read_time(rest);
      case 'm':
        return fail(
            "a raw recording: convert it with heaptrack_interpret (heaptrack does so itself "
            "without --raw)");
      case 'A':
        process_.process().is_attached = true;
        return;
      default:
        return;  // Of other versions: sizes of pages, RSS, suppressions.
    }
  }

  void read_version(std::string_view rest) {
    const auto program = take_hexadecimal(rest);
    const auto version = take_hexadecimal(rest);
    if (!program || !version) return fail("the version is missing");
    if (*version < kFirstVersion || *version > kLastVersion) {
      return fail(fmt::format("unknown version {} of heaptrack's format", *version));
    }
    has_sized_strings_ = *version >= 3;
  }

  void read_command(std::string_view rest) {
    const std::string_view command = trimmed(rest);
    process_.process().executable = command.substr(0, command.find(' '));
    is_export_ = command.find(kEstimatesCommand) != std::string_view::npos;
  }

  void read_comment(std::string_view line) {
    if (line.starts_with(kEstimatesComment)) {
      const auto interval = number_behind(line, kEstimatesComment.size());
      if (!interval || !(*interval >= 0)) return fail("the sampling interval is damaged");
      interval_ = *interval;
      const double mean = *interval > 1 ? std::round(-1 / std::expm1(-1 / *interval)) : 1;
      process_.set_interval(mean, 1 / *interval);
      process_.process().is_pure = false;
    } else if (interval_ && !blocks_.empty() && line.starts_with(kSamplesComment)) {
      read_samples(line.substr(kSamplesComment.size()));
    }
  }

  static std::optional<double> number_behind(std::string_view text, std::size_t prefix) {
    return base::number_in<double>(trimmed(text.substr(std::min(prefix, text.size()))));
  }

  /// The number, size and rate of the samples behind the last block.
  void read_samples(std::string_view rest) {
    Block& block = blocks_.back();
    const auto samples = take_decimal(rest);
    const auto size = take_decimal(rest);
    const auto rate = number_behind(rest, 0);
    if (!samples || !size || !rate || !(*rate > 0))
      return fail("the samples of a size are damaged");
    block.samples = *samples;
    block.size = *size;
    block.rate = *rate;
    const bool is_certain = block.rate == estimation::kCertainRate;
    if (!is_certain && static_cast<double>(block.size) >= *interval_) {
      process_.process().is_pure = true;
    }
    // Written one by one, they would look followed.
    if (block.samples != 1) stop_following();
    ++described_;
  }

  void read_string(std::string_view rest) {
    if (has_sized_strings_ && !take_hexadecimal(rest)) return fail("a text without its length");
    if (!rest.empty()) rest.remove_prefix(1);
    strings_.emplace_back(rest);
  }

  [[nodiscard]] std::string text(std::uint64_t index) const {
    return index == 0 || index > strings_.size() ? "" : strings_[index - 1];
  }

  void read_instruction(std::string_view rest) {
    const auto address = take_hexadecimal(rest);
    if (!address) return fail("an instruction without its address");
    const std::uint64_t module = take_hexadecimal(rest).value_or(0);
    const std::uint32_t location =
        process_.named_location(text(module), module == 0 ? locations_.size() + 1 : *address);
    std::vector<profile::Frame> frames;
    while (const auto function = take_hexadecimal(rest)) {
      // Without debug information a function is all there is.
      const std::uint64_t file = take_hexadecimal(rest).value_or(0);
      const std::uint64_t line = take_hexadecimal(rest).value_or(0);
      frames.push_back({text(*function), "", text(file),
                        static_cast<std::uint32_t>(std::min<std::uint64_t>(line, 0x7fffffff))});
    }
    if (frames.empty() || frames.front().function.empty()) {
      const std::string path = text(module);
      const std::string_view file = base::file_name_of(path);
      frames.assign(1,
                    {fmt::format("{}{}{:#x}", file, file.empty() ? "" : "@", *address), "", "", 0});
    }
    process_.name(location, std::move(frames));
    locations_.push_back(location);
  }

  void read_trace(std::string_view rest) {
    const auto instruction = take_hexadecimal(rest);
    const auto parent = take_hexadecimal(rest);
    if (!instruction || !parent) return fail("a trace is damaged");
    // Only what came before can be called from: so traces have no loops.
    if (*instruction == 0 || *instruction > locations_.size() || *parent > traces_.size()) {
      return fail("a trace refers to a missing trace or instruction");
    }
    traces_.push_back(
        {static_cast<std::uint32_t>(*instruction), static_cast<std::uint32_t>(*parent)});
  }

  void read_block(std::string_view rest) {
    const auto size = take_hexadecimal(rest);
    const auto trace = take_hexadecimal(rest);
    if (!size || !trace) return fail("a size is damaged");
    if (*trace > traces_.size()) return fail("a size refers to a missing trace");
    Block& block = blocks_.emplace_back();
    block.size = *size;
    block.trace = static_cast<std::uint32_t>(*trace);
  }

  void read_event(std::string_view rest, void (HeaptrackReader::*happens)(Block&)) {
    const auto index = take_hexadecimal(rest);
    if (!index) return fail("an allocation is damaged");
    if (*index >= blocks_.size()) {
      return fail(
          fmt::format("allocation {} is missing: the file defines {}", *index, blocks_.size()));
    }
    (this->*happens)(blocks_[*index]);
  }

  void read_time(std::string_view rest) {
    const auto milliseconds = take_hexadecimal(rest);
    if (!milliseconds || *milliseconds > kLongestRun) return fail("a time is damaged");
    now_ = std::max(now_, ForeignProcess::kStart + *milliseconds * kMillisecond);
  }

  void allocate(Block& block) {
    ++block.allocated;
    if (!is_following_ || block.size == 0) return;
    if (recording_.samples.size() - first_sample_ >= most_followed_) return stop_following();
    profile::Sample sample;
    sample.process = process_.index();
    sample.stack = stack_of(block);
    sample.epoch = epoch_of(block);
    sample.time = now_;
    sample.requested = block.size;
    sample.is_certain = block.rate == estimation::kCertainRate;
    block.live.push_back(static_cast<std::uint32_t>(recording_.samples.size()));
    recording_.samples.push_back(sample);
  }

  void free(Block& block) {
    // A free of what was allocated before the recording began.
    if (block.freed == block.allocated) return;
    ++block.freed;
    if (!is_following_ || block.live.empty()) return;
    profile::Sample& sample = recording_.samples[block.live.back()];
    sample.free_time = std::max(now_, sample.time + 1);
    block.live.pop_back();
  }

  /// From now on, and for what there was.
  void stop_following() {
    is_following_ = false;
    recording_.samples.resize(first_sample_);
    for (Block& block : blocks_) block.live = {};
    process_.process().is_aggregated = true;
  }

  std::uint32_t epoch_of(const Block& block) {
    if (block.rate == estimation::kCertainRate) return process_.epoch();
    return process_.epoch_of(-1 / std::expm1(-block.rate), block.rate);
  }

  std::uint32_t stack_of(Block& block) {
    if (block.stack != kNone) return block.stack;
    std::vector<std::uint32_t> locations;
    std::uint32_t trace = block.trace;
    for (; trace != 0 && locations.size() < kDeepest; trace = traces_[trace - 1].parent) {
      locations.push_back(locations_[traces_[trace - 1].instruction - 1]);
    }
    stored_locations_ += locations.size();
    if (stored_locations_ > kMostLocations) fail("its stacks need more than half a GiB");
    return block.stack = process_.stack(std::move(locations), trace != 0);
  }

  void finish() {
    describe();
    profile::Process& process = process_.process();
    process.end = now_;
    if (!is_following_) {
      for (Block& block : blocks_) store_counts(block);
    }
    if (error_ || process.is_attached) return;
    process.ending = profile::Ending::kExited;
    if (!is_export_) add_thread();
  }

  void describe() {
    origin_.what = "recording of heaptrack, every allocation recorded";
    if (is_export_) {
      const bool is_whole = interval_ && described_ == blocks_.size();
      if (!is_whole) process_.lacks_errors();
      origin_.what = "geiger's own export in heaptrack's format: samples as blocks";
      if (!is_whole) {
        origin_.notes.emplace_back("its bytes are estimates whose samples are not in the file");
      }
    }
    if (is_following_) {
      origin_.notes.emplace_back(
          "each free is matched with the youngest object of its stack and size: single lifetimes "
          "are a guess, live memory is not");
      origin_.notes.emplace_back("times have a resolution of 10 ms");
    } else if (!is_export_) {
      origin_.notes.emplace_back(
          fmt::format("more than {} allocations: they were counted, not tracked", most_followed_));
    }
  }

  void store_counts(Block& block) {
    if (block.allocated == 0 || error_) return;
    const std::uint32_t stack = stack_of(block);
    const auto add = [&](std::uint64_t count, bool is_freed) {
      Bytes bytes = 0;
      if (__builtin_mul_overflow(count, block.samples, &count) ||
          __builtin_mul_overflow(count, block.size, &bytes)) {
        return fail("its sums overflow");
      }
      const bool is_certain = block.rate == estimation::kCertainRate;
      process_.add(stack, {.count = count,
                           .bytes = bytes,
                           .is_freed = is_freed,
                           .is_certain = is_certain,
                           .epoch = epoch_of(block)});
    };
    add(block.allocated - block.freed, false);
    add(block.freed, true);
  }

  /// One thread stands for all: it carries the exact total.
  void add_thread() {
    profile::Thread thread;
    thread.process = process_.index();
    thread.start = ForeignProcess::kStart;
    thread.end = now_;
    for (const Block& block : blocks_) {
      Bytes bytes = 0;
      if (__builtin_mul_overflow(block.size, block.allocated, &bytes) ||
          __builtin_add_overflow(thread.bytes, bytes, &thread.bytes)) {
        return fail("its sums overflow");
      }
      if (block.size > 0) thread.certain_count += block.allocated;
    }
    thread.certain_bytes = thread.bytes;
    recording_.threads.push_back(std::move(thread));
  }

  Lines& lines_;
  profile::Recording& recording_;
  ForeignProcess& process_;
  Origin& origin_;
  const std::size_t most_followed_;
  const std::size_t first_sample_;
  std::optional<Error> error_;
  bool has_sized_strings_ = true;
  bool is_export_ = false;          ///< geiger wrote it.
  std::optional<double> interval_;  ///< Of an export, where samples are sparsest.
  std::size_t described_ = 0;       ///< Blocks whose samples are in the file.
  bool is_following_ = true;
  Nanoseconds now_ = ForeignProcess::kStart;
  std::vector<std::string> strings_;
  std::vector<std::uint32_t> locations_;  ///< By instruction.
  std::vector<TraceNode> traces_;
  std::vector<Block> blocks_;
  std::size_t stored_locations_ = 0;
};

}  // namespace

bool is_heaptrack(std::string_view head) {
  if (!head.starts_with(kVersionLine)) return false;
  std::string_view rest = head.substr(1);
  return take_hexadecimal(rest).has_value() && take_hexadecimal(rest).has_value();
}

ingest::FileOutcome read_heaptrack(Lines& lines, profile::Recording& recording,
                                   ForeignProcess& process, Origin& origin,
                                   std::size_t most_followed) {
  return HeaptrackReader(lines, recording, process, origin, most_followed).read();
}

}  // namespace geiger::imports
