#include "analysis/follow/image_follower.h"

#include <algorithm>
#include <string>
#include <tuple>

#include "analysis/ingest/decode/process_facts.h"
#include "analysis/profile/recording/recording.h"
#include "trace/format.h"

namespace geiger::follow {

using profile::spread;

TallySet::TallySet(profile::Recording& recording)
    : tallies_(recording.tallies), known_(64, Hash{recording.tallies}, Same{recording.tallies}) {}

std::size_t TallySet::Hash::operator()(std::uint32_t index) const {
  const profile::Tally& tally = tallies.get()[index];
  const profile::Sample& sample = tally.alike;
  std::uint64_t hash = spread(profile::table_seed(), sample.stack);
  hash = spread(spread(hash, sample.requested), sample.usable);
  hash = spread(hash, std::uint64_t{sample.thread} << 32 | sample.process);
  hash = spread(hash, std::uint64_t{sample.label} << 32 | sample.type);
  return spread(hash, std::uint64_t{sample.epoch} << 32 | sample.heap);
}

bool TallySet::Same::operator()(std::uint32_t a, std::uint32_t b) const {
  const auto key = [](const profile::Tally& tally) {
    const profile::Sample& sample = tally.alike;
    return std::tuple(sample.stack, sample.requested, sample.usable, sample.thread, sample.process,
                      sample.label, sample.type, sample.epoch, sample.heap, sample.is_certain,
                      is_allocation_seen(sample), tally.is_tracked);
  };
  return key(tallies.get()[a]) == key(tallies.get()[b]);
}

std::uint32_t TallySet::find(const profile::Sample& sample, bool is_tracked) {
  const auto next = static_cast<std::uint32_t>(tallies_.size());
  tallies_.push_back({.alike = sample, .last = sample.time, .is_tracked = is_tracked});
  const auto [place, is_new] = known_.insert(next);
  if (!is_new) tallies_.pop_back();
  return *place;
}

// References are looked up within the segment only, as analysis/ingest does; what lived
// before is found again by the references of its checkpoint.

using profile::kNone;
using trace::Record;

void ImageFollower::add(TraceSegment segment) {
  const std::uint32_t number = segment.number;
  if (image_ && number <= opened_.number) return;
  waiting_.try_emplace(number, std::move(segment));
}

trace::State ImageFollower::state() const {
  if (!image_ || !image_->has_header()) return trace::State::kStarting;
  return image_->header().state.load(std::memory_order_relaxed);
}

bool ImageFollower::open_next() {
  if (waiting_.empty()) return false;
  if (process_ != kNone) {
    refresh();
    before_ = shared_.recording.processes[process_];
    for (auto& [number, thread] : threads_) {
      thread.before = shared_.recording.threads[thread.index];
      thread.offset = 0;
    }
  }
  referents_.reset();
  tally_records_.clear();
  opened_ = std::move(waiting_.begin()->second);
  waiting_.erase(waiting_.begin());
  image_.emplace(opened_.file->descriptor());
  return true;
}

/// What lived when the segment ended, and what the checkpoint did not name.
trace::Survivors<LiveCount> ImageFollower::pass_on_live() {
  trace::Survivors<LiveCount> next;
  for (const auto& [ref, live] : live_) next.add(ref, live.time, live.address, live);
  survivors_.for_each_left([&](LiveCount live, Nanoseconds time, Address address) {
    live.has_ended |= is_checkpointed_;
    next.add(0, time, address, live);
  });
  live_ = {};
  return next;
}

/// Set when a segment's header is first read.
void ImageFollower::begin_segment() {
  const trace::FileHeader& header = image_->header();
  if (process_ == kNone) {
    process_ = static_cast<std::uint32_t>(shared_.recording.processes.size());
    shared_.recording.processes.emplace_back();
  }
  thinning_.seed = header.seed;
  begin(header, pass_on_live(), header.segment == segment_.number + 1);
  referents_.emplace(shared_.recording, shared_.interner, process_, header.interval);
  refresh_process();
}

ImageFollower::Progress ImageFollower::read_on(Nanoseconds now, Bytes most) {
  if (!referents_) {
    if (!image_->look()) return Progress::kUnreadable;
    begin_segment();
  }
  return image_->update(now, *this, most);
}

ImageFollower::Progress ImageFollower::update(Nanoseconds now, Bytes most) {
  if (!image_ && !open_next()) return Progress::kCaughtUp;
  while (true) {
    // The state before the records: what it says to be complete is there when they are read.
    const bool is_known = image_->has_header();
    const trace::State before = state();
    const auto progress = read_on(now, most);
    if (progress == Progress::kBehind) return progress;
    const bool is_over = before == trace::State::kContinued || progress == Progress::kUnreadable;
    if (is_over && !open_next()) return progress;
    if (!is_over && is_known) return progress;
  }
}

/// A new sample that has not been freed.
void ImageFollower::add_sample(profile::Sample sample, trace::Ref ref) {
  sample.thread = thread_of(sample.thread);
  sample.free_thread = kNone;
  if (shared_.follows_samples_only) {
    sample.thread = sample.label = sample.type = kNone;
    sample.usable = sample.requested;
  }
  const bool is_tracked = thinning_.keeps(sample.time, sample.address);
  const std::uint32_t index = shared_.tallies.find(sample, is_tracked);
  profile::Tally& tally = shared_.recording.tallies[index];
  ++tally.allocated;
  tally.last = std::max(tally.last, sample.time);
  const std::uint64_t number = shared_.samples++;
  if (is_tracked) live_[ref] = {number, sample.time, sample.address, index};
}

void ImageFollower::on(const Record& /*record*/, const trace::FreeRecord& layout) {
  saw(layout.time);
  const auto found = live_.find(layout.sample);
  if (found == live_.end()) return;
  ++shared_.recording.tallies[found->second.tally].freed;
  live_.erase(found);
}

void ImageFollower::carry_on(const LiveCount& live, trace::Ref ref) {
  // A slow path that took longer than a segment carries its sample on after the checkpoint, or
  // after those of further segments.
  if (is_checkpointed_ || live.has_ended) --shared_.recording.tallies[live.tally].freed;
  live_[ref] = live;
  live_[ref].has_ended = false;
}

void ImageFollower::survivors_ended() {
  survivors_.for_each_left([&](const LiveCount& live, Nanoseconds /*time*/, Address /*address*/) {
    if (!live.has_ended) ++shared_.recording.tallies[live.tally].freed;
  });
}

/// Frees of the samples that thinning drops are not recorded from here on.
void ImageFollower::fates_thinned() {
  for (auto live = live_.begin(); live != live_.end();) {
    if (thinning_.keeps(live->second.time, live->second.address)) {
      ++live;
      continue;
    }
    auto& tallies = shared_.recording.tallies;
    --tallies[live->second.tally].allocated;
    const profile::Sample alike = tallies[live->second.tally].alike;
    ++tallies[shared_.tallies.find(alike, false)].allocated;
    live = live_.erase(live);
  }
}

/// A thread is there from its record on; kNone before and for 0.
std::uint32_t ImageFollower::thread_of(std::uint32_t number) const {
  const auto place = threads_.find(number);
  return place == threads_.end() ? kNone : place->second.index;
}

void ImageFollower::on(const Record& record, const trace::ThreadRecord& layout) {
  const auto [place, is_new] = threads_.try_emplace(record.header.thread);
  FollowedThread& thread = place->second;
  if (is_new) {
    auto& threads = shared_.recording.threads;
    thread.index = static_cast<std::uint32_t>(threads.size());
    threads.emplace_back().process = thread.before.process = process_;
  }
  saw(layout.start);
  thread.before.tid = layout.tid;
  const Nanoseconds start = thread.before.start;
  thread.before.start = start == 0 ? layout.start : std::min(start, layout.start);
  if ((record.header.flags & trace::kFlagCarriedThread) == 0) thread.offset = record.offset;
}

void ImageFollower::on(const Record& record, const trace::ThreadNameRecord& layout) {
  names_[record.header.thread] = trace::name_of(layout);
}

void ImageFollower::on(const Record& record, const trace::TallyRecord& layout) {
  const auto tally = referents_->tally_from(layout, record.header);
  if (!tally) return;
  tally_records_.emplace_back(record.offset, shared_.recording.tallies.size());
  shared_.recording.tallies.push_back(*tally);
}

void ImageFollower::on(const Record& record, const trace::MarkRecord& layout) {
  saw(layout.time);
  shared_.recording.marks.push_back({process_, thread_of(record.header.thread), layout.time,
                                     std::string(trace::text_of(record))});
}

void ImageFollower::count_live_since(std::uint64_t first, std::vector<std::uint64_t>& live) const {
  for (const auto& [ref, sample] : live_) {
    if (sample.number >= first) ++live[sample.tally];
  }
}

void ImageFollower::refresh() {
  if (!referents_) return;
  refresh_threads();
  refresh_tallies();
  refresh_process();
}

void ImageFollower::refresh_threads() {
  for (auto& [number, followed] : threads_) {
    profile::Thread& thread = shared_.recording.threads[followed.index];
    thread = followed.before;
    if (const auto name = names_.find(number); name != names_.end()) thread.name = name->second;
    if (followed.offset == 0) continue;
    const auto record = image_->reread(followed.offset);
    const bool is_whole = record && record->words.size_bytes() >= sizeof(trace::ThreadRecord);
    if (is_whole) ingest::add_totals(thread, record->as<trace::ThreadRecord>());
  }
}

void ImageFollower::refresh_tallies() {
  for (const auto& [offset, index] : tally_records_) {
    const auto record = image_->reread(offset);
    if (!record || record->words.size_bytes() < sizeof(trace::TallyRecord)) continue;
    const auto tally = referents_->tally_from(record->as<trace::TallyRecord>(), record->header);
    if (!tally) continue;
    saw(tally->last);
    shared_.recording.tallies[index] = *tally;
  }
}

void ImageFollower::refresh_process() {
  const trace::FileHeader& header = image_->header();
  profile::Process process = before_ ? *before_ : ingest::process_of(header, opened_.shown);
  if (before_) ingest::go_on(process, header);
  // Whatever the runtime did: here samples are counted, and their instants are not kept.
  process.is_aggregated = true;
  process.thinning = thinning_.level;
  process.trace_bytes += image_->position();
  process.records += image_->records();
  process.uncommitted += image_->uncommitted();
  const trace::State state = this->state();
  const bool is_open = state == trace::State::kStarting || state == trace::State::kSampling;
  if (is_open) process.ending = profile::Ending::kStillOpen;
  if (process.end == 0) process.end = std::max(last_time_, header.start_monotonic);
  if (header.image_start != 0) {
    process.segments.push_back(segment_to(process.end, header));
  }
  shared_.recording.processes[process_] = std::move(process);
}

}  // namespace geiger::follow
