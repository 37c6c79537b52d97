#include "analysis/ingest/decode/process_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "trace/survivors.h"

namespace geiger::ingest {

namespace {

template <std::size_t N>
std::string text_of(const char (&field)[N]) {
  return {field, strnlen(field, N)};
}

profile::Ending ending_of(trace::State state) {
  switch (state) {
    case trace::State::kExited:
      return profile::Ending::kExited;
    case trace::State::kOff:
      return profile::Ending::kSwitchedOff;
    case trace::State::kContinued:
      return profile::Ending::kContinued;
    case trace::State::kStopped:
      return profile::Ending::kStopped;
    default:
      return profile::Ending::kKilled;
  }
}

void add_refused(profile::RefusedTraces& refused, const trace::FileHeader& header) {
  if (const std::uint32_t children = header.refused_children.load(); children != 0) {
    refused.children += children;
    refused.children_errno = header.children_errno.load();
  }
  if (const std::int32_t error = header.segment_errno.load(); error != 0) {
    refused.segment_errno = error;
  }
}

/// Of segments the later ones may have begun without a recorder outside.
void take_pids(profile::Process& process, const trace::FileHeader& header) {
  if (process.inner_pid != 0) return;
  process.pid = header.outer_pid != 0 ? header.outer_pid : header.pid;
  process.inner_pid = process.pid == header.pid ? 0 : header.pid;
}

void take_end_signal(profile::Process& process, const trace::FileHeader& header) {
  process.end_signal = header.end_signal & ~trace::kEndShortOfMemory;
  process.was_memory_short = (header.end_signal & trace::kEndShortOfMemory) != 0;
}

/// A segment begins before the one before it has ended.
void add_processor_time(profile::Process& process, const trace::FileHeader& header) {
  const Nanoseconds from = std::max(header.start_processor_time, process.processor_clock);
  const bool is_known = header.start_processor_time != 0 && header.stop_processor_time >= from;
  process.processor_clock = is_known ? header.stop_processor_time : from;
  process.processor_time.used += process.processor_clock - from;
  if (!is_known) process.processor_time.is_least = true;
}

void add_guarding(profile::Guarding& guarding, const trace::FileHeader& header) {
  const std::uint32_t setting = header.guard_setting.load();
  guarding.rate = trace::guard_rate_of(setting);
  guarding.is_on = setting != 0;
  guarding.has_changed = guarding.has_changed || header.guard_changes.load() != 0;
  guarding.is_exact = (setting & trace::kGuardExact) != 0;
  guarding.chosen += header.guard_chosen.load();
  guarding.large += header.guard_large.load();
  guarding.full += header.guard_full.load();
  guarding.obstacle = header.guard_obstacle.load();
}

}  // namespace

profile::Process process_of(const trace::FileHeader& header, const std::string& path) {
  profile::Process process;
  process.trace_path = path;
  process.executable = text_of(header.executable);
  process.started_as = text_of(header.started_as);
  process.allocator = text_of(header.allocator);
  take_pids(process, header);
  process.parent_pid = header.parent_pid;
  process.is_fork_child = (header.mode & trace::kModeForked) != 0;
  process.is_pure = (header.mode & trace::kModePure) != 0;
  process.start = header.start_monotonic;
  process.start_realtime = header.start_realtime;
  process.end = header.stop_monotonic;
  process.seed = header.seed;
  process.interval = header.interval;
  if (header.page_size != 0) process.page_bytes = header.page_size;
  process.stop_reason = header.stop_reason.load();
  process.stop_errno = header.stop_errno;
  for (std::size_t i = 0; i < process.drops.size(); ++i) process.drops[i] = header.drops[i].load();
  process.image_start = header.image_start;
  process.is_attached = (header.mode & trace::kModeAttached) != 0;
  process.calls_privately = (header.mode & trace::kModePrivateCalls) != 0;
  process.is_aggregated = (header.mode & trace::kModeAggregated) != 0;
  process.ending = ending_of(header.state.load());
  take_end_signal(process, header);
  process.processor_time.is_least = false;
  process.processor_start = header.start_processor_time;
  add_processor_time(process, header);
  process.unread_stacks = header.unread_stacks.load();
  add_guarding(process.guarding, header);
  add_refused(process.refused, header);
  return process;
}

void go_on(profile::Process& process, const trace::FileHeader& header) {
  take_pids(process, header);
  process.end = header.stop_monotonic;
  process.stop_reason = header.stop_reason.load();
  process.stop_errno = header.stop_errno;
  for (std::size_t i = 0; i < process.drops.size(); ++i) process.drops[i] += header.drops[i].load();
  process.ending = ending_of(header.state.load());
  take_end_signal(process, header);
  add_processor_time(process, header);
  process.unread_stacks += header.unread_stacks.load();
  add_guarding(process.guarding, header);
  add_refused(process.refused, header);
}

void add_totals(profile::Thread& thread, const trace::ThreadRecord& layout) {
  const auto read = [](const std::atomic<std::uint64_t>& total) {
    return total.load(std::memory_order_relaxed);
  };
  thread.end = std::max(thread.end, Nanoseconds{read(layout.end)});
  thread.bytes += read(layout.bytes) + read(layout.pending);
  thread.trials += read(layout.trials) + read(layout.pending);
  thread.hits += read(layout.hits);
  thread.certain_bytes += read(layout.certain_bytes);
  thread.certain_count += read(layout.certain_count);
  thread.tail_bytes += read(layout.tail_bytes);
  thread.armed = read(layout.armed);
  thread.slow_calls += read(layout.calls);
}

namespace {

static_assert(trace::Thinning::kMost == profile::kMostThinning);

void mark(std::vector<profile::Sample>& samples, const profile::Process& process,
          std::uint32_t index) {
  const trace::Thinning thinning{process.seed, process.thinning};
  for (auto sample = std::ranges::lower_bound(samples, index, {}, &profile::Sample::process);
       sample != samples.end() && sample->process == index; ++sample) {
    sample->is_thinned_out =
        !thinning.keeps(sample->time, sample->address) || process.is_finalizing(sample->time);
  }
}

/// "segment 4", "segments 4 to 6".
std::string numbers_between(std::uint32_t before, std::uint32_t after) {
  if (after - before == 2) return fmt::format("segment {}", before + 1);
  return fmt::format("segments {} to {}", before + 1, after - 1);
}

}  // namespace

void mark_thinned_out(profile::Recording& recording, std::uint32_t process) {
  const profile::Process& thinned = recording.processes[process];
  if (thinned.thinning == 0) return;
  mark(recording.samples, thinned, process);
  mark(recording.heap_samples, thinned, process);
}

std::vector<std::string> faults_of(const profile::Process& process) {
  std::vector<std::string> faults;
  const auto add = [&](const std::string& what) {
    faults.push_back(fmt::format("pid {}: {}", process.pid, what));
  };
  for (std::size_t i = 0; i < process.segments.size(); ++i) {
    const profile::Segment& segment = process.segments[i];
    const bool follows_gap = i > 0 && segment.number != process.segments[i - 1].number + 1;
    if (follows_gap) {
      add(numbers_between(process.segments[i - 1].number, segment.number) +
          " missing: allocations in them are not counted, and objects freed in them count "
          "as freed at their start");
    }
    if (!segment.is_complete) {
      add(fmt::format("the checkpoint of segment {} was cut off: some live objects are missing",
                      segment.number));
    }
    if (segment.lost > 0) {
      add(fmt::format("segment {} had no room for {} samples that were live when it began",
                      segment.number, segment.lost));
    }
  }
  return faults;
}

}  // namespace geiger::ingest
