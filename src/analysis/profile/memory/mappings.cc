#include "analysis/profile/memory/mappings.h"

#include <algorithm>
#include <span>

#include "base/check.h"

namespace geiger::profile {
namespace {

/// One end of an event.
struct Step {
  Nanoseconds time;
  const MappingEvent* event;
  bool is_begin;
};

std::span<const MappingEvent> events_of(const Recording& recording, std::uint32_t process) {
  const auto& events = recording.mappings;
  return {std::ranges::lower_bound(events, process, {}, &MappingEvent::process),
          std::ranges::upper_bound(events, process, {}, &MappingEvent::process)};
}

/// In the order of time; of one instant, in that of the records.
std::vector<Step> steps_of(const Recording& recording, std::uint32_t process) {
  std::vector<Step> steps;
  for (const MappingEvent& event : events_of(recording, process)) {
    const Nanoseconds took = std::min(event.took, event.time);
    const bool begins =
        event.kind == MappingEvent::Kind::kUnmap || event.kind == MappingEvent::Kind::kRemap;
    if (begins) steps.push_back({event.time - took, &event, true});
    if (event.kind != MappingEvent::Kind::kUnmap) steps.push_back({event.time, &event, false});
  }
  std::ranges::stable_sort(steps, {}, &Step::time);
  return steps;
}

/// Replays steps up to and including those of `last`; after every instant calls
/// seen(time, space), and gained(event, bytes) where memory became accessible.
template <typename Gained, typename Seen>
AddressSpace replay(const Recording& recording, std::uint32_t process, Nanoseconds last,
                    const Gained& gained, const Seen& seen) {
  AddressSpace space(recording.processes[process].page_bytes);
  const std::vector<Step> steps = steps_of(recording, process);
  for (std::size_t i = 0; i < steps.size() && steps[i].time <= last; ++i) {
    const Step& step = steps[i];
    if (step.is_begin) {
      space.begin(*step.event);
    } else if (const Bytes bytes = space.finish(*step.event); bytes != 0) {
      gained(*step.event, bytes);
    }
    if (i + 1 == steps.size() || steps[i + 1].time != step.time) seen(step.time, space);
  }
  return space;
}

constexpr auto kIgnore = [](const auto&...) {};
constexpr Nanoseconds kEnd = ~Nanoseconds{0};

AddressSpace space_at(const Recording& recording, std::uint32_t process, Nanoseconds instant) {
  return replay(recording, process, instant, kIgnore, kIgnore);
}

Entry entry_of(std::uint32_t process, std::uint32_t stack, std::uint32_t thread, Bytes bytes) {
  Entry entry;
  entry.process = process;
  entry.stack = stack;
  entry.thread = thread;
  entry.requested = bytes;
  entry.usable = bytes;
  entry.count = 1;
  entry.is_certain = true;
  return entry;
}

void add_ranges(Profile& profile, const AddressSpace& space, std::uint32_t process, MappedAs as) {
  space.for_each([&](Address start, const AddressSpace::Range& range) {
    if (range.as != as) return;
    profile.entries.push_back(entry_of(process, range.stack, range.thread, range.end - start));
  });
}

Nanoseconds peak_of(const Recording& recording, std::uint32_t process, Nanoseconds from,
                    Nanoseconds last) {
  Nanoseconds peak = std::max(from, recording.processes[process].start);
  Bytes most = 0;
  const auto see = [&](Nanoseconds time, const AddressSpace& space) {
    if (time < from || space.bytes(MappedAs::kMemory) <= most) return;
    most = space.bytes(MappedAs::kMemory);
    peak = time;
  };
  replay(recording, process, last, kIgnore, see);
  return peak;
}

void add_gains(Profile& profile, const Recording& recording, std::uint32_t process,
               Nanoseconds from, Nanoseconds last) {
  const auto add = [&](const MappingEvent& event, Bytes bytes) {
    if (event.time < from) return;
    profile.entries.push_back(entry_of(process, event.stack, event.thread, bytes));
  };
  replay(recording, process, last, add, kIgnore);
}

MappedAs asked_for(Kind kind) {
  if (kind == Kind::kReserved) return MappedAs::kReserved;
  return kind == Kind::kMappedFiles ? MappedAs::kFile : MappedAs::kMemory;
}

}  // namespace

Profile select_mappings(const Recording& recording, const Selection& selection) {
  GEIGER_CHECK(is_of_mappings(selection.kind));
  Profile profile;
  profile.kind = selection.kind;
  profile.is_part = selection.is_part();
  const Nanoseconds from = selection.from.value_or(0);
  const Nanoseconds to = selection.to.value_or(kEnd);
  const bool is_of_instant = is_mapping_snapshot(selection.kind);
  const Nanoseconds last = is_of_instant ? selection.at.value_or(kEnd) : to - (to == kEnd ? 0 : 1);
  for (std::uint32_t process = 0; process < recording.processes.size(); ++process) {
    if (recording.processes[process].misses_segments()) {
      if (selection.kind == Kind::kMappedAtPeak) {
        profile.peak_times.push_back(recording.processes[process].start);
      }
      continue;
    }
    if (selection.kind == Kind::kMappedTotal) {
      add_gains(profile, recording, process, from, last);
      continue;
    }
    Nanoseconds instant = last;
    if (selection.kind == Kind::kMappedAtPeak) {
      instant = peak_of(recording, process, from, last);
      profile.peak_times.push_back(instant);
    }
    add_ranges(profile, space_at(recording, process, instant), process, asked_for(selection.kind));
  }
  return profile;
}

MappedBytes mapped_bytes_at(const Recording& recording, std::uint32_t process,
                            std::optional<Nanoseconds> instant) {
  const AddressSpace space = space_at(recording, process, instant.value_or(kEnd));
  return {.memory = space.bytes(MappedAs::kMemory),
          .reserved = space.bytes(MappedAs::kReserved),
          .files = space.bytes(MappedAs::kFile)};
}

std::vector<std::pair<Nanoseconds, Bytes>> mapped_over_time(const Recording& recording,
                                                            std::uint32_t process) {
  std::vector<std::pair<Nanoseconds, Bytes>> points;
  if (recording.processes[process].misses_segments()) return points;
  const auto see = [&](Nanoseconds time, const AddressSpace& space) {
    const Bytes bytes = space.bytes(MappedAs::kMemory);
    if (points.empty() ? bytes > 0 : bytes != points.back().second)
      points.emplace_back(time, bytes);
  };
  replay(recording, process, kEnd, kIgnore, see);
  return points;
}

}  // namespace geiger::profile
