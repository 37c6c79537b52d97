#include "analysis/profile/memory/measured.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "analysis/profile/memory/mappings.h"
#include "analysis/profile/recording/recording.h"
#include "analysis/profile/select/peak.h"
#include "analysis/profile/select/thinned.h"
#include "analysis/profile/select/totals.h"

namespace geiger::profile {

namespace {

/// Collects entries, one per sample.
class Collector {
 public:
  Collector(const Recording& recording, const Selection& selection)
      : recording_(recording), selection_(selection) {
    profile_.kind = selection.kind;
    profile_.is_part = selection.is_part();
    profile_.heap = selection.heap;
    profile_.is_of_fates = depends_on_fates(selection);
    interval_ =
        profile_.is_of_fates ? largest_interval_of_fates(recording) : largest_interval(recording);
  }

  void add(const Sample& sample, Bytes value, std::uint64_t count = 1) {
    const Answer answer = is_selected(sample);
    if (value == 0 || count == 0 || answer == Answer::kNo) return;
    std::vector<Entry>& entries = answer == Answer::kYes ? profile_.entries : profile_.open;
    entries.push_back(entry_of(sample, value, count));
    const Bytes tried = estimation::tried_bytes(sample.requested);
    const double ratio = static_cast<double>(value) / static_cast<double>(tried);
    profile_.largest_ratio = std::max(profile_.largest_ratio, ratio);
  }

  /// Adds a sample of which at least `least` and at most `most` bytes count. Its open part is such
  /// that both together have the sum of squares of `most`, or more, and a larger sum.
  void add_between(const Sample& sample, Bytes least, Bytes most) {
    add(sample, least);
    if (most <= least || is_selected(sample) == Answer::kNo) return;
    const auto a = static_cast<double>(least), b = static_cast<double>(most);
    const auto open = static_cast<Bytes>(std::ceil(std::sqrt((b - a) * (b + a))));
    profile_.open.push_back(entry_of(sample, std::min(open, most), 1));
  }

  /// Adds a sample of which it is not known how much of it counts.
  void leave_open(const Sample& sample) {
    if (is_selected(sample) == Answer::kNo) return;
    profile_.open.push_back(entry_of(sample, sample.requested, 1));
  }

  [[nodiscard]] Profile finish() {
    // An object that was missed may weigh as much more as the heaviest seen.
    profile_.largest_interval = interval_ * profile_.largest_ratio;
    return std::move(profile_);
  }

 private:
  [[nodiscard]] Answer is_selected(const Sample& sample) const {
    if (profile_.is_of_fates && sample.is_thinned_out) return Answer::kNo;
    return sample.heap == selection_.heap ? answer_of(selection_.keeps, sample) : Answer::kNo;
  }

  [[nodiscard]] Entry entry_of(const Sample& sample, Bytes value, std::uint64_t count) const {
    Entry entry = profile::entry_of(recording_, sample, count);
    entry.value = value;
    if (selection_.splits_by_lifetime) entry.lifetime = lifetime_class_of(sample);
    return entry;
  }

  const Recording& recording_;
  const Selection& selection_;
  Profile profile_;
  double interval_ = 0;
};

Bytes residency_of(const SampleResidency& found, Bytes requested, Kind kind) {
  const Bytes resident = std::min(found.resident, requested);
  const Bytes swapped = std::min(found.swapped, requested - resident);
  if (kind == Kind::kResident) return resident;
  return kind == Kind::kSwapped ? swapped : requested - resident - swapped;
}

constexpr std::string_view kNotToldApart =
    "its pages could not be read from outside, and mincore inside the process cannot distinguish "
    "swapped pages from untouched ones";

void add_answers(const Recording& recording, const std::map<std::uint32_t, Nanoseconds>& used,
                 Collector& collector) {
  std::vector<bool> is_answered(used.empty() ? 0 : recording.samples.size());
  for (const ResidencyAnswer& answer : recording.residency_answers) {
    const Sample& sample = recording.samples[answer.sample];
    const auto time = used.find(sample.process);
    const bool counts = time != used.end() && answer.time == time->second;
    if (!counts || !is_live_at(sample, answer.time)) continue;
    collector.add(sample, answer.resident);
    is_answered[answer.sample] = true;
  }
  for (std::size_t i = 0; i < is_answered.size(); ++i) {
    const Sample& sample = recording.samples[i];
    const auto time = used.find(sample.process);
    const bool is_open = !is_answered[i] && time != used.end() && is_live_at(sample, time->second);
    if (is_open) collector.leave_open(sample);
  }
}

void add_residency(const Recording& recording, const Selection& selection, Collector& collector) {
  const auto answered = answers_used(recording, selection.moment);
  if (selection.kind == Kind::kResident) add_answers(recording, answered, collector);
  for (const Observations& observations : recording.observations) {
    const Snapshot* snapshot = snapshot_at(observations, selection.moment);
    const bool is_usable = snapshot != nullptr && snapshot->residency_fault.empty();
    if (!is_usable || answered.contains(observations.process)) continue;
    for (const SampleResidency& found : snapshot->residency) {
      const Sample& sample = recording.samples[found.sample];
      if (!was_live(sample, *snapshot)) continue;
      collector.add(sample, residency_of(found, sample.requested, selection.kind));
    }
  }
}

Bytes bytes_of_block(const Sample& sample, Kind kind) {
  if (kind == Kind::kUsable || kind == Kind::kLiveUsable) return sample.usable;
  return sample.usable - std::min(sample.usable, sample.requested);
}

void add_blocks(const Recording& recording, const Selection& selection, Collector& collector) {
  const bool is_live = is_of_live_blocks(selection.kind);
  const std::vector<bool> there = there_at_end(recording, selection);
  for (const Sample& sample : recording.samples_beside(selection.heap)) {
    const bool is_in_window = !(selection.from && sample.time < *selection.from) &&
                              !(selection.to && sample.time >= *selection.to);
    if (!is_in_window || (is_live && (sample.free_time != 0 || !there[sample.process]))) continue;
    if (is_live || is_allocation_seen(sample)) {
      collector.add(sample, bytes_of_block(sample, selection.kind));
    }
  }
  if (selection.from || selection.to) return;
  for (const Tally& tally : recording.tallies) {
    if (is_live && !there[tally.alike.process]) continue;
    collector.add(tally.alike, bytes_of_block(tally.alike, selection.kind),
                  count_of(tally, selection.kind));
  }
}

void add_waste(const Recording& recording, const Selection& selection, Collector& collector) {
  for (const Observations& observations : recording.observations) {
    const Snapshot* snapshot = snapshot_at(observations, selection.moment);
    if (snapshot == nullptr || !snapshot->waste_fault.empty()) continue;
    for (const SampleWaste& waste : snapshot->waste) {
      const Sample& sample = recording.samples[waste.sample];
      if (was_live(sample, *snapshot)) collector.add(sample, waste.bytes);
    }
  }
}

void add_content(const SampleContent& found, const Sample& sample, Nanoseconds salt, Kind kind,
                 Collector& collector) {
  const Bytes size = sample.requested;
  const Bytes unread = std::min(found.unread, size), zero = std::min(found.zero, size - unread);
  if (kind == Kind::kZero) return collector.add_between(sample, zero, zero + unread);
  if (kind == Kind::kWhollyZero) {
    const bool may_be = zero + unread == size;
    return collector.add_between(sample, may_be && unread == 0 ? size : 0, may_be ? size : 0);
  }
  const auto beyond_first = [size](std::uint32_t copies) {
    return static_cast<double>(size) * (1 - 1 / static_cast<double>(copies));
  };
  const Bytes least = rounded_at_random(beyond_first(found.copies), salt ^ found.sample);
  const bool is_counted = found.most_copies == found.copies;
  collector.add_between(sample, least,
                        is_counted ? least
                        : found.most_copies == kAnyCopies
                            ? size
                            : static_cast<Bytes>(std::ceil(beyond_first(found.most_copies))));
}

void add_contents(const Recording& recording, const Selection& selection, Collector& collector) {
  std::map<std::uint32_t, Nanoseconds> times;  // By process.
  std::vector<bool> is_read(recording.samples.size());
  for (const Observations& observations : recording.observations) {
    const Content* content = content_at(observations, selection.moment);
    if (content == nullptr) continue;
    times[observations.process] = content->time;
    for (const SampleContent& found : content->samples) {
      const Sample& sample = recording.samples[found.sample];
      is_read[found.sample] = true;
      if (!is_live_at(sample, content->time)) continue;
      add_content(found, sample, content->time, selection.kind, collector);
    }
  }
  for (std::size_t i = 0; i < is_read.size(); ++i) {
    const Sample& sample = recording.samples[i];
    const auto time = times.find(sample.process);
    if (is_read[i] || time == times.end() || !is_live_at(sample, time->second)) continue;
    collector.leave_open(sample);
  }
}

/// What allocators said last of each process: samples that were live then.
std::map<std::uint32_t, Nanoseconds> last_told(const Recording& recording) {
  std::map<std::uint32_t, Nanoseconds> last;
  for (const Utilization& told : recording.utilization) {
    Nanoseconds& time = last[recording.samples[told.sample].process];
    time = std::max(time, told.time);
  }
  return last;
}

/// The sample's share of its slab's used bytes answers for that share of the free ones.
double waste_of(const Sample& sample, const Utilization& told) {
  const Bytes used = told.slab_bytes - told.free_bytes;
  if (used == 0) return 0;
  const double share =
      std::min(1.0, static_cast<double>(sample.usable) / static_cast<double>(used));
  return share * static_cast<double>(told.free_bytes);
}

void add_utilization(const Recording& recording, Collector& collector) {
  const auto last = last_told(recording);
  // The newest of each sample.
  std::map<std::uint32_t, const Utilization*> newest;
  for (const Utilization& told : recording.utilization) {
    const Utilization*& kept = newest[told.sample];
    if (kept == nullptr || kept->time <= told.time) kept = &told;
  }
  for (const auto& [index, told] : newest) {
    const Sample& sample = recording.samples[index];
    const bool is_live = sample.free_time == 0 || sample.free_time > last.at(sample.process);
    if (!is_live) continue;
    collector.add(sample, rounded_at_random(waste_of(sample, *told), told->time ^ index));
  }
}

bool is_live_only(const Tally& tally) { return !is_allocation_seen(tally.alike); }

/// Whether a process has objects whose usable size was not recorded.
bool misses_usable(const Recording& recording, std::uint32_t process) {
  const auto is_unknown = [process](const Sample& sample) {
    return sample.process == process && sample.usable == 0 && sample.requested > 0;
  };
  return std::ranges::any_of(recording.samples, is_unknown) ||
         std::ranges::any_of(recording.tallies, is_unknown, &Tally::alike);
}

/// Fails where the recording of a process lacks all data for a kind.
base::Outcome<void> check_recorded(const Recording& recording, std::uint32_t index, Kind kind) {
  const Process& process = recording.processes[index];
  if (is_of_blocks(kind) && misses_usable(recording, index)) {
    return base::Failure{"the file does not contain usable sizes"};
  }
  if (kind == Kind::kAllocated && has_live_only(recording)) {
    return base::Failure{std::string(kLiveOnly)};
  }
  if (is_of_mappings(kind) && process.misses_segments()) {
    return base::Failure{"segments of the recording are missing, and with them their mappings"};
  }
  const bool is_counted =
      kind == Kind::kAllocated || kind == Kind::kLiveAtEnd || is_of_blocks(kind);
  if (!process.is_aggregated || is_counted || is_of_mappings(kind)) return {};
  return base::Failure{std::string(kAggregated)};
}

bool has_utilization(const Recording& recording, std::uint32_t process) {
  return std::ranges::any_of(recording.utilization, [&](const Utilization& told) {
    return recording.samples[told.sample].process == process;
  });
}

}  // namespace

bool has_live_only(const Recording& recording) {
  return recording.samples.empty() && !recording.tallies.empty() &&
         std::ranges::all_of(recording.tallies, is_live_only);
}

const Snapshot* snapshot_at(const Observations& observations, Moment moment) {
  const auto& kept = moment == Moment::kMaximum ? observations.at_maximum : observations.last;
  return kept ? &*kept : nullptr;
}

const Content* content_at(const Observations& observations, Moment moment) {
  const auto& kept =
      moment == Moment::kMaximum ? observations.content_at_maximum : observations.last_content;
  return kept ? &*kept : nullptr;
}

const Observations* observations_of(const Recording& recording, std::uint32_t process) {
  const auto found = std::ranges::find(recording.observations, process, &Observations::process);
  return found == recording.observations.end() ? nullptr : &*found;
}

Profile select_measured(const Recording& recording, const Selection& selection) {
  Collector collector(recording, selection);
  switch (selection.kind) {
    case Kind::kOverhead:
    case Kind::kLiveOverhead:
    case Kind::kUsable:
    case Kind::kLiveUsable:
      add_blocks(recording, selection, collector);
      break;
    case Kind::kStranded:
      add_waste(recording, selection, collector);
      add_utilization(recording, collector);
      break;
    case Kind::kZero:
    case Kind::kWhollyZero:
    case Kind::kDuplicate:
      add_contents(recording, selection, collector);
      break;
    default:
      add_residency(recording, selection, collector);
  }
  return collector.finish();
}

base::Outcome<void> check_kind(const Recording& recording, std::uint32_t process, Kind kind,
                               Moment moment) {
  const bool needs_waste = kind == Kind::kStranded;
  GEIGER_TRY(check_recorded(recording, process, kind));
  if (is_of_blocks(kind) || !is_measured(kind)) return {};
  if (needs_waste && has_utilization(recording, process)) return {};
  const bool needs_content = is_of_content(kind);
  if (!needs_waste && !needs_content && answers_used(recording, moment).contains(process)) {
    if (kind == Kind::kResident) return {};
    return base::Failure{std::string(kNotToldApart)};
  }
  const Observations* observations = observations_of(recording, process);
  if (observations == nullptr) {
    return base::Failure{std::string(kNotObserved)};
  }
  if (needs_content) {
    if (content_at(*observations, moment) != nullptr) return {};
    const std::string& why = observations->content_fault;
    return base::Failure{why.empty() ? std::string(kNoContent) : why};
  }
  if (!observations->fault.empty()) return base::Failure{observations->fault};
  const Snapshot* snapshot = snapshot_at(*observations, moment);
  if (snapshot == nullptr) return base::Failure{"the process ended before its memory was read"};
  const std::string& fault = needs_waste ? snapshot->waste_fault : snapshot->residency_fault;
  if (fault.empty()) return {};
  return base::Failure{fault};
}

base::Outcome<void> check_kind(const Recording& recording, Kind kind, Moment moment) {
  base::Outcome<void> told;
  bool is_of_observed = false;  // Such a reason says more than "not observed".
  for (std::uint32_t i = 0; i < recording.processes.size(); ++i) {
    auto own = check_kind(recording, i, kind, moment);
    // Mappings are exact, so they are those of all processes.
    if (own.has_value() && is_of_mappings(kind)) continue;
    if (own.has_value() || is_of_mappings(kind)) return own;
    const bool is_observed = observations_of(recording, i) != nullptr;
    if (told.has_value() || (is_observed && !is_of_observed)) told = std::move(own);
    is_of_observed |= is_observed;
  }
  return told;
}

Bytes rounded_at_random(double bytes, std::uint64_t salt) {
  if (!(bytes > 0)) return 0;
  const double whole = std::floor(bytes);
  const double uniform = static_cast<double>(spread(0, salt) >> 11) * 0x1p-53;
  return static_cast<Bytes>(whole) + (uniform < bytes - whole ? 1 : 0);
}

namespace {

bool is_readable(const Snapshot* snapshot) {
  return snapshot != nullptr && snapshot->residency_fault.empty();
}

/// Whether what was read from outside is as good as an answer of `time`.
bool is_seen_from_outside(const Recording& recording, std::uint32_t process, Moment moment,
                          Nanoseconds time) {
  const Observations* observations = observations_of(recording, process);
  if (observations == nullptr || !observations->fault.empty()) return false;
  const Snapshot* last = snapshot_at(*observations, Moment::kLast);
  return is_readable(snapshot_at(*observations, moment)) && is_readable(last) && last->time >= time;
}

}  // namespace

std::map<std::uint32_t, Nanoseconds> answers_used(const Recording& recording, Moment moment) {
  std::map<std::uint32_t, Nanoseconds> newest;
  for (const ResidencyAnswer& answer : recording.residency_answers) {
    Nanoseconds& time = newest[recording.samples[answer.sample].process];
    time = std::max(time, answer.time);
  }
  std::erase_if(newest, [&](const auto& answer) {
    return is_seen_from_outside(recording, answer.first, moment, answer.second);
  });
  return newest;
}

std::vector<AnswerFacts> facts_of_answers(const Recording& recording, Moment moment) {
  const auto used = answers_used(recording, moment);
  std::map<std::uint32_t, AnswerFacts> facts;
  for (const auto& [process, time] : used) facts[process] = {process, time};
  for (const Sample& sample : recording.samples) {
    const auto found = facts.find(sample.process);
    if (found == facts.end() || sample.is_thinned_out) continue;
    if (is_live_at(sample, found->second.time)) ++found->second.unanswered;
  }
  for (const ResidencyAnswer& answer : recording.residency_answers) {
    const Sample& sample = recording.samples[answer.sample];
    const auto found = facts.find(sample.process);
    const bool counts = found != facts.end() && answer.time == found->second.time &&
                        !sample.is_thinned_out && is_live_at(sample, answer.time);
    if (!counts || found->second.unanswered == 0) continue;
    ++found->second.answered;
    --found->second.unanswered;
  }
  std::vector<AnswerFacts> all;
  for (const auto& [process, fact] : facts) all.push_back(fact);
  return all;
}

namespace {

/// Whether a process has objects without a type, and whether any of them was not freed: those only
/// the process's observer can have read.
enum class Untyped : std::uint8_t { kNone, kFreed, kAlive };

std::string typing_fault_of(const Recording& recording, std::uint32_t process, Untyped untyped) {
  const Observations* observations = observations_of(recording, process);
  if (untyped == Untyped::kAlive && observations == nullptr) return std::string(kNotObserved);
  if (untyped == Untyped::kNone || observations == nullptr) return {};
  if (untyped == Untyped::kAlive && !observations->fault.empty()) return observations->fault;
  return observations->types.fault;
}

}  // namespace

std::optional<PythonTyping> python_typing(const Recording& recording, bool is_at_end) {
  PythonTyping typing;
  typing.is_at_end = is_at_end;
  std::vector<Untyped> untyped(recording.processes.size(), Untyped::kNone);
  for (const Sample& sample : recording.samples) {
    if (!vocabulary::is_python_object(sample.entry_point)) continue;
    if (is_at_end && sample.free_time != 0) continue;
    ++typing.samples;
    if (sample.type != kNone) {
      ++typing.typed;
      continue;
    }
    Untyped& found = untyped[sample.process];
    found = std::max(found, sample.free_time != 0 ? Untyped::kFreed : Untyped::kAlive);
  }
  for (const Tally& tally : recording.tallies) {
    if (!vocabulary::is_python_object(tally.alike.entry_point)) continue;
    typing.samples += is_at_end ? tally.allocated - tally.freed : tally.allocated;
    typing.fault = "the recording is aggregated";
  }
  if (typing.samples == 0) return std::nullopt;
  for (std::uint32_t i = 0; i < untyped.size() && typing.fault.empty(); ++i) {
    typing.fault = typing_fault_of(recording, i, untyped[i]);
  }
  return typing;
}

}  // namespace geiger::profile
