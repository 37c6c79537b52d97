#include "analysis/observe/observer.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>

#include "analysis/observe/allocator_heaps.h"
#include "analysis/observe/heap_walks.h"
#include "analysis/observe/live_set.h"
#include "analysis/observe/map_kinds.h"
#include "analysis/observe/proc_files.h"
#include "analysis/observe/process_memory.h"
#include "base/clock.h"
#include "base/text.h"
#include "estimation/estimate.h"
#include "estimation/sums.h"

namespace geiger::observe {

namespace {

using profile::SeriesPoint;

/// The later one goes into the earlier.
void merge(SeriesPoint& into, const SeriesPoint& from) {
  const Bytes least = std::min(into.least, from.least);
  if (from.counts.resident > into.counts.resident) into = from;
  into.least = least;
}

}  // namespace

void Series::add(Nanoseconds time, const profile::MemoryCounts& counts) {
  const SeriesPoint point{time, counts, counts.resident};
  // A reading that comes a little early starts a point all the same.
  if (!points_.empty() && time < opened_ + step_ - step_ / 4) return merge(points_.back(), point);
  if (points_.size() == kMostPoints) {
    thin();
    return add(time, counts);
  }
  points_.push_back(point);
  opened_ = time;
}

void Series::thin() {
  for (std::size_t i = 0; i < points_.size() / 2; ++i) {
    points_[i] = points_[2 * i];
    merge(points_[i], points_[2 * i + 1]);
  }
  points_.resize(points_.size() / 2);
  step_ *= 2;
}

namespace {

using profile::MapKind;
using profile::Snapshot;

/// Bytes of trace that one snapshot reads: below 50 ms of decoding.
constexpr Bytes kMostTrace = 64 * kMiB;
constexpr std::size_t kMostSamples = 1U << 20;
/// A reading costs some 30 us: this many times as long passes until the next.
constexpr Nanoseconds kReadingRest = 200;
/// Of a program that does little, a reading comes this often all the same.
constexpr Nanoseconds kLongestRest = 1'000'000'000;

constexpr SnapshotPace kPace{};

void add_residency(const std::vector<LiveSample>& samples, Pagemap& pagemap, Snapshot& snapshot) {
  snapshot.residency.reserve(samples.size());
  for (const LiveSample& sample : samples) {
    const RangeResidency found = pagemap.residency(sample.address, sample.requested);
    snapshot.residency.push_back({sample.ref, found.resident, found.swapped});
  }
  std::ranges::sort(snapshot.residency, {}, &profile::SampleResidency::sample);
  if (!samples.empty() && pagemap.pages_read() == 0) {
    snapshot.residency.clear();
    snapshot.residency_fault = "the process ended while it was read";
  }
}

/// What the system answers where it hides a process's memory, or knows no such file.
bool is_refusal(int error) { return error == EACCES || error == EPERM || error == ENOENT; }

/// Runs something and adds the processor time it took: on a busy machine the clock would
/// count others' work.
template <class Function>
void timed(Nanoseconds& cost, Function function) {
  const Nanoseconds start = base::clock_now(CLOCK_THREAD_CPUTIME_ID);
  function();
  cost += base::clock_now(CLOCK_THREAD_CPUTIME_ID) - start;
}

}  // namespace

ProcessObserver::ProcessObserver(pid_t pid, const std::string& trace, bool wants_waste,
                                 bool is_known)
    : pid_(pid),
      files_(pid),
      trace_name_(base::file_name_of(trace)),
      wants_waste_(wants_waste),
      started_(base::monotonic_now()) {
  if (!files_.is_open()) {
    found_.fault = "the process ended before it was observed";
  } else if (const auto opened = follower_.open(trace); !opened.has_value()) {
    found_.fault = opened.reason();
  } else if (const auto maps = files_.read("maps"); !maps && is_refusal(errno)) {
    found_.fault = std::string("maps: ") + std::strerror(errno);
  } else if (!maps || (!is_known && !writes_trace(*maps))) {
    // The process is in another pid namespace, or gone already.
    found_.fault = "no process has this id and writes this trace";
  }
  next_ = started_;
  next_question_ = started_ + kPace.least_rest;
}

bool ProcessObserver::writes_trace(const std::string& maps) const {
  const MapFacts facts{trace_name_, follower_.inode(), &follower_.live(), {}, {}};
  return std::ranges::any_of(parse_smaps(maps),
                             [&](const Mapping& mapping) { return is_trace(mapping, facts); });
}

bool ProcessObserver::read_counts(Nanoseconds now) {
  const auto status = files_.status();
  if (!status) {
    ++found_.refused;
    return false;
  }
  counts_ = status->counts;
  found_.high_water = std::max(found_.high_water, status->high_water);
  series_.add(now, counts_);
  return true;
}

/// Whether RSS exceeds the largest one caught by a share.
bool ProcessObserver::has_grown(double share) const {
  const auto most = static_cast<double>(found_.at_maximum->counts.resident);
  return static_cast<double>(counts_.resident) >= most * (1 + share);
}

/// The first snapshot counts as one.
bool ProcessObserver::has_leapt(Nanoseconds now) const {
  return found_.last ? has_grown(kPace.leap) : now >= started_ + kPace.least_rest;
}

bool ProcessObserver::is_snapshot_due(Nanoseconds now) const {
  if (has_leapt(now)) return true;
  if (!found_.last) return false;
  const Nanoseconds age = last_end_ - started_;
  const Nanoseconds rest = std::clamp(age / 4, kPace.least_rest, kPace.rest);
  if (now < last_end_ + rest) return false;
  const Nanoseconds idle = std::clamp(age / 2, kPace.least_rest, kPace.idle_rest);
  return now >= last_end_ + idle || has_grown(kPace.growth);
}

void ProcessObserver::read_processor_time() {
  clockid_t clock{};
  timespec time{};
  if (clock_getcpuclockid(pid_, &clock) != 0 || clock_gettime(clock, &time) != 0) return;
  const Nanoseconds read = static_cast<Nanoseconds>(time.tv_sec) * 1'000'000'000 +
                           static_cast<Nanoseconds>(time.tv_nsec);
  if (!first_processor_time_) first_processor_time_ = read;
  processor_time_ = read - std::min(read, *first_processor_time_);
}

bool ProcessObserver::observe(Nanoseconds now, Allowance allowance, double share) {
  if (!found_.fault.empty()) {
    ask_if_due(now);
    next_ = next_question_;
    return false;
  }
  Nanoseconds reading = 0;
  bool is_read = false;
  timed(reading, [&] {
    is_read = read_counts(now);
    read_processor_time();
  });
  found_.cost += reading;
  const auto is_due = [&] {
    if (allowance == Allowance::kAll) return is_snapshot_due(now);
    if (allowance == Allowance::kRare && found_.last) {
      const Nanoseconds rest = std::max(kPace.idle_rest, (now - started_) / 5);
      if (now >= last_end_ + rest) return true;
    }
    return allowance != Allowance::kNone && has_leapt(now);
  };
  const bool takes_snapshot = is_read && is_due();
  if (takes_snapshot) take_snapshot(now);
  // A young process is looked at more often: it may be over before the first step is.
  const Nanoseconds age = now - started_;
  const Nanoseconds step = std::min(series_.step(), std::max(age / 16, kPace.least_rest));
  const auto rest = static_cast<Nanoseconds>(static_cast<double>(reading) / share);
  next_ = now + std::max({step, kReadingRest * reading, std::min(rest, kLongestRest)});
  return takes_snapshot;
}

Nanoseconds ProcessObserver::walk_if_due(Nanoseconds now) {
  if (!found_.fault.empty() || !walks_.is_due(now)) return 0;
  if ((follower_.header().mode & trace::kModeAttached) == 0) return 0;
  Nanoseconds cost = 0;
  timed(cost, [&] {
    static_cast<void>(follower_.follow(kMostTrace, now));
    walks_.walk(files_, follower_, now);
  });
  found_.cost += cost;
  return cost;
}

std::optional<KeptSoFar> ProcessObserver::kept_so_far() {
  constexpr double kLevel = 0.90;
  if (!found_.fault.empty() || series_.points().empty()) return std::nullopt;
  static_cast<void>(follower_.follow(kMostTrace, base::monotonic_now()));
  const Bytes interval = follower_.live().interval();
  if (interval == 0) return std::nullopt;
  const bool is_pure = (follower_.header().mode & trace::kModePure) != 0;
  const double rate = estimation::rate_of_interval(static_cast<double>(interval));
  estimation::NodeSums sums;
  for (const LiveSample& sample : follower_.live().by_address()) {
    const bool is_certain = !is_pure && sample.requested >= interval;
    sums.add(sample.requested, is_certain ? estimation::kCertainRate : rate);
  }
  sums.could_have_sampled(static_cast<double>(interval));
  const profile::MemoryCounts& first = series_.points().front().counts;
  return KeptSoFar{estimation::estimate_bytes(sums, kLevel).interval.hi, interval,
                   first.resident + first.swapped, walks_.has_counted()};
}

// Each answer takes the program's time and a record per live sample, so the rests grow with the
// age of the process.
void ProcessObserver::ask_if_due(Nanoseconds now) {
  if (now < next_question_) return;
  asks_ = !is_confined_further();
  const Nanoseconds age = now - std::min(now, started_);
  const Nanoseconds rest = std::clamp(age / 2, kPace.least_rest, kPace.idle_rest + age / 10);
  next_question_ = now + rest;
}

bool ProcessObserver::is_confined_further() const {
  const auto theirs = files_.status();
  const auto ours = ProcessFiles(::getpid()).status();
  return !theirs || !ours || theirs->confinement != ours->confinement;
}

void ProcessObserver::observe_at_once(Nanoseconds now) {
  if (!found_.fault.empty()) return;
  // Nothing else waits for this read, so the whole trace may be read.
  constexpr int kSteps = trace::kMaxCapacity / kMostTrace;
  for (int i = 0; i < kSteps && !follower_.follow(kMostTrace, now); ++i) {
  }
  if (read_counts(now)) take_snapshot(now);
}

void ProcessObserver::take_snapshot(Nanoseconds now) {
  std::optional<Snapshot> taken;
  Nanoseconds cost = 0;
  is_refused_ = false;
  timed(cost, [&] { taken = snapshot(now); });
  if (taken) timed(cost, [&] { types_.keep(follower_, now); });
  last_end_ = base::monotonic_now();
  found_.cost += cost;
  if (is_refused_) ask_if_due(now);
  if (!taken) return void(++found_.refused);
  taken->cost = cost;
  keep(std::move(*taken));
}

std::optional<Snapshot> ProcessObserver::snapshot(Nanoseconds now) {
  Snapshot snapshot;
  snapshot.time = base::monotonic_now();
  snapshot.counts = counts_;
  const bool is_up_to_date = follower_.follow(kMostTrace, now);
  const auto text = files_.read("smaps");
  if (!text || text->empty()) {
    is_refused_ = !text && is_refusal(errno);
    if (is_refused_) types_.refuse(std::string("smaps: ") + std::strerror(errno));
    return std::nullopt;
  }
  const std::vector<Mapping> mappings = parse_smaps(*text);
  const std::vector<LiveSample> samples = follower_.live().by_address();
  std::vector<Address> stacks = files_.stack_pointers();
  std::ranges::sort(stacks);
  const std::vector<Range> extents = extents_of(samples);
  const MapFacts facts{trace_name_, follower_.inode(), &follower_.live(), extents, stacks};
  const auto writes = [&](const Mapping& mapping) { return is_trace(mapping, facts); };
  if (std::ranges::none_of(mappings, writes)) return std::nullopt;  // Another process's number.
  const std::vector<MapKind> kinds = kinds_of(mappings, facts);
  snapshot.maps = totals_of(mappings, kinds);
  const base::UniqueFd file = files_.open("pagemap");
  if (!file.is_open()) {
    is_refused_ = is_refusal(errno);
    if (errno == ESRCH) return std::nullopt;
    snapshot.residency_fault = std::string("pagemap: ") + std::strerror(errno);
    types_.refuse(snapshot.residency_fault);
    return snapshot;
  }
  Pagemap pagemap(Pagemap::reader_of(file.get()), follower_.header().page_size);
  move_ranges(runtime_ranges(follower_.header()), mappings, kinds, MapKind::kRuntime, false,
              pagemap, snapshot.maps);
  move_ranges(extents, mappings, kinds, MapKind::kMallocHeap, true, pagemap, snapshot.maps);
  move_ranges(own_ranges(facts), mappings, kinds, MapKind::kMapped, true, pagemap, snapshot.maps);
  if (!is_up_to_date) {
    snapshot.residency_fault = "the trace grew faster than it could be read";
  } else if (samples.size() > kMostSamples) {
    snapshot.residency_fault = "too many live samples to look up";
  } else {
    add_residency(samples, pagemap, snapshot);
    if (is_geiger_heap(follower_.header().allocator)) {
      add_census(files_, mappings, pagemap, samples, follower_, wants_waste_, snapshot);
    } else if (wants_waste_) {
      add_waste(files_, mappings, pagemap, samples, follower_, snapshot);
    }
    types_.read(files_, pagemap, samples, follower_);
  }
  // What was read of a process that was ending is not what it held.
  if (!files_.status()) return std::nullopt;
  return snapshot;
}

void ProcessObserver::keep(Snapshot snapshot) {
  const bool is_larger = !found_.at_maximum || snapshot.resident() > found_.at_maximum->resident();
  if (is_larger) found_.at_maximum = snapshot;
  found_.last = std::move(snapshot);
}

profile::Observations ProcessObserver::take() {
  found_.series = series_.points();
  found_.worked = processor_time_;
  found_.types = types_.take();
  walks_.take(found_);
  return std::move(found_);
}

namespace {

/// What all readings of all processes may take. A snapshot that would go beyond it, at the cost of
/// the latest one, waits until time has passed. The counters alone are read on, which costs little
/// (ProcessObserver).
struct Budget {
  double share;        ///< Of the time.
  Nanoseconds credit;  ///< To begin with.

  [[nodiscard]] Nanoseconds allowed(Nanoseconds elapsed) const {
    return credit + static_cast<Nanoseconds>(static_cast<double>(elapsed) * share);
  }
};
constexpr Budget kBudget{0.005, 1'000'000};
/// Of a program that does little, readings take this share of its own processor time, but may take
/// this share of the time, and of the first kYoung what others may.
constexpr double kShareOfProgram = 0.01, kLeastShare = 0.0001;
constexpr Nanoseconds kYoung = 2'000'000'000;
/// Asking for the allocator's waste costs a walk through its heaps at each snapshot. The walks of
/// recordings that began late may take as much again.
constexpr Budget kBudgetOfWaste{0.01, 50'000'000};
/// Snapshots of leaps, which are few, may take this much, with all others.
constexpr Budget kBudgetOfLeaps{0.05, 20'000'000};
constexpr Nanoseconds kLeastWait = 5'000'000;
constexpr Nanoseconds kLongestWait = 1'000'000'000;

}  // namespace

Observer::Observer(bool wants_waste) : wants_waste_(wants_waste) {
  const auto status = ProcessFiles(::getpid()).status();
  own_high_water_ = status ? status->high_water : 0;
}

template <class Is>
void Observer::finish_if(const Is& is_over) {
  std::erase_if(observed_, [&](auto& each) {
    if (!is_over(each)) return false;
    found_[each.first] = each.second->take();
    return true;
  });
}

void Observer::follow(const std::vector<Writing>& traces) {
  if (started_ == 0) started_ = base::monotonic_now();
  finish_if([&](const auto& each) {
    return std::ranges::find(traces, each.first, &Writing::path) == traces.end();
  });
  for (const Writing& trace : traces) {
    if (!observed_.contains(trace.path)) begin(trace);
  }
}

void Observer::begin(const Writing& trace) {
  std::string& newest = newest_[{trace.pid, trace.image_start}];
  const auto& process = observed_[trace.path] =
      std::make_unique<ProcessObserver>(trace.pid, trace.path, wants_waste_, !newest.empty());
  if (process->is_faulty()) snapshots_.push_back({trace.path, trace.pid});
  if (!newest.empty()) before_[trace.path] = newest;
  newest = trace.path;
}

double Observer::share(Nanoseconds now) const {
  const Nanoseconds elapsed = now - started_;
  const double most = (wants_waste_ ? kBudgetOfWaste : kBudget).share;
  if (elapsed <= kYoung) return most;
  const double load = static_cast<double>(processor_time_) / static_cast<double>(elapsed);
  return std::clamp(kShareOfProgram * load, kLeastShare, most);
}

Allowance Observer::allowance(Nanoseconds now) const {
  const Budget& budget = wants_waste_ ? kBudgetOfWaste : kBudget;
  const Nanoseconds cost = cost_ + latest_;
  if (cost <= budget.credit + static_cast<Nanoseconds>(allowed_)) return Allowance::kAll;
  if (cost <= budget.allowed(now - started_)) return Allowance::kRare;
  const bool is_in_leaps = cost <= kBudgetOfLeaps.allowed(now - started_);
  return is_in_leaps ? Allowance::kFirstAndLeaps : Allowance::kNone;
}

bool Observer::can_afford_walk(Nanoseconds now) const {
  return cost_of_walks_ + latest_walk_ <= kBudgetOfWaste.allowed(now - started_);
}

Nanoseconds Observer::round() {
  Nanoseconds wait = kLongestWait;
  const Nanoseconds begun = base::monotonic_now();
  const Nanoseconds since = std::max(std::exchange(allowed_until_, begun), started_);
  allowed_ += share(begun) * static_cast<double>(begun - std::min(begun, since));
  for (auto& [path, process] : observed_) {
    const Nanoseconds now = base::monotonic_now();
    if (now >= process->next()) {
      const Nanoseconds before = process->cost(), worked = process->processor_time();
      const bool has_snapshot = process->observe(now, allowance(now), share(now));
      const Nanoseconds spent = process->cost() - before;
      processor_time_ += process->processor_time() - worked;
      cost_ += spent;
      if (has_snapshot) {
        latest_ = spent;
        snapshots_.push_back({path, process->pid()});
      }
    }
    if (can_afford_walk(now)) {
      const Nanoseconds spent = process->walk_if_due(now);
      cost_of_walks_ += spent;
      if (spent > 0) latest_walk_ = spent;
    }
    const Nanoseconds after = base::monotonic_now();
    wait = std::min(wait, std::max(kLeastWait, std::max(process->next(), after) - after));
  }
  return wait;
}

std::optional<KeptSoFar> Observer::kept_so_far(const std::string& path) {
  const auto found = observed_.find(path);
  return found == observed_.end() ? std::nullopt : found->second->kept_so_far();
}

void Observer::take_maximum(Bytes maximum) {
  if (maximum <= own_high_water_) return;
  finish_if([](const auto& each) { return each.second->has_ended(); });
  const auto largest =
      std::ranges::max_element(found_, {}, [](const auto& each) { return each.second.high_water; });
  if (largest == found_.end()) return;
  largest->second.high_water = std::max(largest->second.high_water, maximum);
}

std::vector<std::string> Observer::take_questions() {
  std::vector<std::string> traces;
  for (const auto& [path, process] : observed_) {
    if (process->take_question()) traces.push_back(path);
  }
  return traces;
}

std::optional<profile::Observations> Observer::take(const std::string& path) {
  follow({});
  auto found = found_.extract(path);
  if (found.empty()) add_unseen(path);
  profile::Observations all = counters_before(path);
  const bool is_known = !all.series.empty();
  if (found.empty()) return is_known ? std::optional(std::move(all)) : std::nullopt;
  profile::Observations& own = found.mapped();
  if (is_known) own.fault.clear();  // It was over before it was looked at.
  if (own.last) all.last.reset();
  if (own.at_maximum) all.at_maximum.reset();
  profile::append(all, std::move(own));
  return all;
}

/// A segment that came and went between two looks: it follows the last one that was seen.
void Observer::add_unseen(const std::string& path) {
  TraceFollower trace;
  if (!trace.open(path).has_value()) return;
  const trace::FileHeader& header = trace.header();
  const auto pid = static_cast<pid_t>(header.outer_pid != 0 ? header.outer_pid : header.pid);
  const auto image = newest_.find({pid, header.image_start});
  if (image == newest_.end() || image->second == path) return;
  before_[path] = std::exchange(image->second, path);
}

void forget_samples(std::optional<Snapshot>& snapshot) {
  if (!snapshot) return;
  snapshot->residency.clear();
  snapshot->waste.clear();
  snapshot->residency_fault = snapshot->waste_fault = "the segment of its samples was deleted";
}

/// What does not name samples, which went with their file.
profile::Observations Observer::counters_before(const std::string& path) {
  profile::Observations counters;
  const auto before = before_.find(path);
  if (before == before_.end() || access(before->second.c_str(), F_OK) == 0) return counters;
  counters = counters_before(before->second);
  auto found = found_.extract(before->second);
  if (found.empty()) return counters;
  profile::Observations& deleted = found.mapped();
  forget_samples(deleted.last);
  forget_samples(deleted.at_maximum);
  deleted.fault.clear();
  deleted.types = {};
  profile::append(counters, std::move(deleted));
  return counters;
}

profile::Observations observe_now(pid_t pid, const std::string& trace, bool wants_waste) {
  ProcessObserver process(pid, trace, wants_waste);
  process.observe_at_once(base::monotonic_now());
  return process.take();
}

}  // namespace geiger::observe
