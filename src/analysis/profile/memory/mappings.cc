#include "analysis/profile/memory/mappings.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <span>

#include "base/check.h"

namespace geiger::profile {

namespace {

// As Linux numbers them on every machine that can be recorded.
constexpr std::uint32_t kAnonymous = 0x20;
constexpr std::uint32_t kDontUnmap = 4;
constexpr std::uint32_t kHugePages = 0x40000;
constexpr unsigned kHugeShift = 26;
constexpr Bytes kUsualHugePage = 2 * kMiB;

/// What a map consists of, and its length is rounded up to. The size of huge pages is in
/// the flags, as its logarithm, where it is not the usual one.
Bytes page_of(const MappingEvent& event, Bytes page_bytes) {
  if ((event.flags & kHugePages) == 0) return page_bytes;
  const unsigned log2 = event.flags >> kHugeShift & 63;
  return log2 == 0 ? kUsualHugePage : Bytes{1} << log2;
}

MappedAs mapped_as(std::uint8_t protection, bool is_of_file) {
  if (protection == 0) return MappedAs::kReserved;
  return is_of_file ? MappedAs::kFile : MappedAs::kMemory;
}

bool leaves_old_range(const MappingEvent& event) {
  return (event.flags & kDontUnmap) != 0 || event.old_bytes == 0;
}

bool is_in_place(const MappingEvent& event) {
  return event.address == event.old_address && !leaves_old_range(event);
}

}  // namespace

AddressSpace::AddressSpace(Bytes page_bytes) : page_bytes_(std::max<Bytes>(page_bytes, 1)) {}

void AddressSpace::begin(const MappingEvent& event) {
  if (event.kind == MappingEvent::Kind::kUnmap) erase(span_of(event.address, event.bytes));
  if (event.kind == MappingEvent::Kind::kRemap) give_up(event);
}

Bytes AddressSpace::finish(const MappingEvent& event) {
  switch (event.kind) {
    case MappingEvent::Kind::kMap:
      return map(event);
    case MappingEvent::Kind::kUnmap:
      return 0;
    case MappingEvent::Kind::kRemap:
      return take_up(event);
    case MappingEvent::Kind::kBreak:
      return move_break(event);
    case MappingEvent::Kind::kProtect:
      return protect(event);
  }
  return 0;
}

/// Whole pages; empty where the trace contains an impossible range.
AddressSpace::Span AddressSpace::span_of(Address address, Bytes bytes) const {
  return span_of(address, bytes, page_bytes_);
}

AddressSpace::Span AddressSpace::span_of(Address address, Bytes bytes, Bytes page_bytes) {
  constexpr Address kEnd = std::numeric_limits<Address>::max();
  const Bytes rest = kEnd - address;
  if (bytes >= rest) return {address, kEnd};
  const Bytes over = bytes % page_bytes;
  const Bytes padding = over == 0 ? 0 : page_bytes - over;
  return {address, address + bytes + std::min(padding, rest - bytes)};
}

/// Makes `at` a border if a range goes across it.
void AddressSpace::split(Address at) {
  auto place = ranges_.lower_bound(at);
  if (place == ranges_.begin()) return;
  --place;
  if (place->second.end <= at) return;
  ranges_.emplace(at, place->second);
  place->second.end = at;
}

/// Nothing of the range may be in the map.
void AddressSpace::put(Address start, const Range& range) {
  if (start >= range.end) return;
  bytes_[static_cast<std::size_t>(range.as)] += range.end - start;
  ranges_.emplace(start, range);
}

AddressSpace::Ranges::iterator AddressSpace::remove(Ranges::iterator place) {
  bytes_[static_cast<std::size_t>(place->second.as)] -= place->second.end - place->first;
  return ranges_.erase(place);
}

void AddressSpace::erase(Span span) {
  if (span.start >= span.end) return;
  split(span.start);
  split(span.end);
  auto place = ranges_.lower_bound(span.start);
  while (place != ranges_.end() && place->first < span.end) place = remove(place);
}

Bytes AddressSpace::map(const MappingEvent& event) {
  const Span span = span_of(event.address, event.bytes, page_of(event, page_bytes_));
  const bool is_of_file = (event.flags & kAnonymous) == 0;
  const MappedAs as = mapped_as(event.protection, is_of_file);
  erase(span);
  put(span.start, {span.end, event.stack, event.thread, event.stack, as, is_of_file});
  return as == MappedAs::kMemory ? span.end - span.start : 0;
}

/// The stack that makes a range accessible owns it from then on; the range returns to its mapper
/// when it becomes inaccessible. Changes between kinds of access do not change the owner.
Bytes AddressSpace::protect(const MappingEvent& event) {
  const Span span = span_of(event.address, event.bytes);
  if (span.start >= span.end) return 0;
  split(span.start);
  split(span.end);
  Bytes gained = 0;
  for (auto place = ranges_.lower_bound(span.start);
       place != ranges_.end() && place->first < span.end; ++place) {
    auto& [start, range] = *place;
    const MappedAs as = mapped_as(event.protection, range.is_of_file);
    if (as == range.as) continue;
    const Bytes bytes = range.end - start;
    bytes_[static_cast<std::size_t>(range.as)] -= bytes;
    bytes_[static_cast<std::size_t>(as)] += bytes;
    range.as = as;
    range.stack = as == MappedAs::kReserved ? range.mapper : event.stack;
    range.thread = event.thread;
    if (as == MappedAs::kMemory) gained += bytes;
  }
  return gained;
}

Bytes AddressSpace::move_break(const MappingEvent& event) {
  const Address low = std::min(event.address, event.old_address);
  const Address high = std::max(event.address, event.old_address);
  erase({low, high});
  if (event.address <= event.old_address) return 0;
  put(low, {high, event.stack, event.thread, event.stack, MappedAs::kMemory, false});
  return high - low;
}

/// A range that stays where it is loses its tail; one that moves is taken out until it
/// is known where to.
void AddressSpace::give_up(const MappingEvent& event) {
  const Span old = span_of(event.old_address, event.old_bytes);
  if (leaves_old_range(event)) return;
  if (is_in_place(event)) return erase({span_of(event.address, event.bytes).end, old.end});
  split(old.start);
  split(old.end);
  auto& taken = moving_[&event];
  auto place = ranges_.lower_bound(old.start);
  while (place != ranges_.end() && place->first < old.end) {
    Range range = place->second;
    range.end -= old.start;
    taken.emplace_back(place->first - old.start, range);
    place = remove(place);
  }
}

Bytes AddressSpace::take_up(const MappingEvent& event) {
  const Span span = span_of(event.address, event.bytes);
  const Bytes old_bytes = leaves_old_range(event)
                              ? 0
                              : span_of(event.old_address, event.old_bytes).end - event.old_address;
  const Address grown = std::min(span.end, span.start + std::min(old_bytes, span.end - span.start));
  Range added{span.end, event.stack, event.thread, event.stack, MappedAs::kMemory, false};
  // What is added is like what it is added to; unlike anything known, it is memory.
  const auto alike = [&added](const Range& range) {
    added.as = range.as;
    added.is_of_file = range.is_of_file;
  };
  if (is_in_place(event)) {
    const auto next = ranges_.lower_bound(grown);
    if (next != ranges_.begin() && std::prev(next)->second.end == grown) {
      alike(std::prev(next)->second);
    }
    erase({grown, span.end});
  } else {
    erase(span);
    for (auto [start, range] : moving_[&event]) {
      if (range.end == old_bytes) alike(range);
      range.end = std::min(span.start + range.end, span.end);
      put(span.start + start, range);
    }
    moving_.erase(&event);
  }
  put(grown, added);
  return added.as == MappedAs::kMemory && grown < span.end ? span.end - grown : 0;
}

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
