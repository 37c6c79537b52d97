#include "api/profile.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "estimation/heap_course.h"
#include "estimation/sums.h"
#include "estimation/thinning.h"
#include "sampling/samplers.h"
#include "trace/survivors.h"

namespace geiger::api {

namespace {

/// Traces to remember: more than exist at a time.
constexpr std::size_t kMostTraces = 16;

std::string text_of(std::span<const std::uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

void Directory::read(const MappedTrace& trace, std::uint32_t first_image) {
  if (first_image != first_image_) *this = Directory();
  first_image_ = first_image;
  Bytes& read_to = read_to_.try_emplace(trace.image, trace::kRecordsOffset).first->second;
  walk(trace, read_to, trace.end, *this);
  read_to = std::max(read_to, trace.end);
  if (read_to_.size() > kMostTraces) read_to_.erase(read_to_.begin());
}

Directory::Thread& Directory::thread_at(std::uint32_t index) {
  if (index >= threads_.size()) threads_.resize(index + 1);
  return threads_[index];
}

void Directory::on(const trace::Record& record, const trace::ThreadRecord& layout) {
  thread_at(record.header.thread).tid = static_cast<std::uint32_t>(layout.tid);
}

void Directory::on(const trace::Record& record, const trace::ThreadNameRecord& layout) {
  thread_at(record.header.thread).name = trace::name_of(layout);
}

/// Every trace has its own records of the modules still loaded.
void Directory::on(const trace::Record& record, const trace::ModuleRecord& layout) {
  Module module{layout.start, layout.end, layout.bias, std::string(trace::path_of(record)),
                text_of(trace::build_id_of(record))};
  if (std::ranges::find(modules_, module) == modules_.end()) modules_.push_back(std::move(module));
}

Directory::Thread Directory::thread(std::uint32_t index) const {
  return index < threads_.size() ? threads_[index] : Thread{};
}

namespace {

std::uint64_t hash_of(const std::vector<std::uint64_t>& words) {
  const auto* bytes = reinterpret_cast<const char*>(words.data());
  return std::hash<std::string_view>{}({bytes, words.size() * sizeof words[0]});
}

std::vector<std::uint64_t> words_of(const MappedTrace& trace, trace::Ref ref) {
  const auto* words = &trace.at<std::uint64_t>(ref);
  return {words, words + trace.header_of(ref).words};
}

}  // namespace

void RecordStore::read_from(const MappedTrace& trace) {
  known_.clear();
  from_ = trace;
  if (!words_.empty()) return;
  constexpr std::size_t kHeaderWords = (sizeof(trace::FileHeader) + 7) / 8;
  words_.resize(kHeaderWords);
  std::memcpy(static_cast<void*>(words_.data()), trace.header, sizeof(trace::FileHeader));
}

MappedTrace RecordStore::view() const {
  MappedTrace trace;
  trace.base = reinterpret_cast<const char*>(words_.data());
  trace.end = words_.size() * 8;
  trace.header = reinterpret_cast<const trace::FileHeader*>(words_.data());
  trace.image = from_.image;
  return trace;
}

trace::Ref RecordStore::append(const std::uint64_t* words, std::size_t count) {
  const auto ref = static_cast<trace::Ref>(words_.size());
  words_.insert(words_.end(), words, words + count);
  return ref;
}

/// Clears the origin of the record in its header, thread and processor, before comparing.
trace::Ref RecordStore::unique(std::vector<std::uint64_t> record) {
  trace::RecordHeader header = trace::RecordHeader::unpack(record[0]);
  header.cpu = 0;
  header.thread = 0;
  record[0] = header.pack();
  const std::uint64_t hash = hash_of(record);
  const auto [begin, end] = by_contents_.equal_range(hash);
  for (auto at = begin; at != end; ++at) {
    if (std::equal(record.begin(), record.end(), &words_[at->second])) return at->second;
  }
  const trace::Ref ref = append(record.data(), record.size());
  by_contents_.emplace(hash, ref);
  return ref;
}

/// Copies a stack or an epoch.
trace::Ref RecordStore::copied(trace::Ref ref) {
  if (ref == 0) return 0;
  const auto [at, is_new] = known_.try_emplace(ref, 0);
  if (is_new) at->second = unique(words_of(from_, ref));
  return at->second;
}

/// Copies a name, and for a label those around it, up to GEIGER_MAX_NESTING.
trace::Ref RecordStore::copied_name(trace::Ref ref) {
  if (ref == 0) return 0;
  if (const auto at = known_.find(ref); at != known_.end()) return at->second;
  std::vector<std::uint64_t> words = words_of(from_, ref);
  auto* record = reinterpret_cast<trace::NameRecord*>(words.data());
  if (record->kind == trace::NameKind::kLabel) record->owner = copied_name(record->owner);
  return known_[ref] = unique(std::move(words));
}

trace::Ref RecordStore::add(trace::Ref sample) {
  trace::RecordHeader header = from_.header_of(sample);
  trace::SampleRecord record = from_.sample(sample);
  header.type = trace::RecordType::kSample;
  header.words = sizeof record / 8;
  header.flags &= static_cast<std::uint8_t>(~trace::kReserved);
  record.header = header.pack();
  record.stack = copied(record.stack);
  record.epoch = copied(record.epoch);
  record.label = copied_name(record.label);
  record.type = copied_name(record.type);
  return append(reinterpret_cast<const std::uint64_t*>(&record), header.words);
}

namespace {

/// Different from the stream that splits samples into parts.
constexpr std::uint64_t kThinningStream = 0x7468696e6e696e67;

/// In [0, 1), a hash of the sample's reference, so that the result is always the same.
double uniform_of(const MappedTrace& trace, trace::Ref sample) {
  const std::uint64_t hash = sampling::thread_seed(trace.header->seed ^ kThinningStream, sample);
  return static_cast<double>(hash >> 11) * 0x1p-53;
}

/// The probability to keep a sample, so that the kept ones are as if drawn with `lambda`.
double keep_probability(const trace::SampleRecord& record, const Drawn& drawn, double lambda) {
  const Bytes size = record.requested();
  return drawn.is_certain ? estimation::inclusion_probability(size, lambda)
                          : estimation::keep_probability(size, drawn.lambda, lambda);
}

/// Reads the part of a profile that is in one trace.
struct WindowReader : trace::RecordSink {
  using RecordSink::on;

  explicit WindowReader(Profile& into) : profile(into) {}

  void on(const trace::Record& record, const trace::SampleRecord&) { add(record.ref()); }
  void on(const trace::Record& record, const trace::CarriedRecord&) {
    if (profile.counts_carried) add(record.ref());
  }
  void on(const trace::Record& record, const trace::FreeRecord& free) {
    if (!profile.has_lifetimes()) return;
    const auto at = std::ranges::lower_bound(profile.samples, free.sample, {}, &Drawn::ref);
    if (at == profile.samples.end() || at->ref != free.sample) return;
    end_by(*at, record, free);
  }
  void on(const trace::Record&, const trace::EpochRecord& epoch) {
    profile.largest_interval = std::max(profile.largest_interval, epoch.interval);
  }

  void add(trace::Ref ref) {
    Drawn drawn;
    if (!thinned(profile.trace, ref, profile.interval, drawn)) return;
    if (profile.has_lifetimes()) drawn.until = profile.to;
    profile.samples.push_back(drawn);
  }

  Profile& profile;
};

geiger_text text_of(const MappedTrace& trace, trace::Ref name) {
  const std::string_view text = trace::text_of(trace.record(name));
  return {text.data(), text.size()};
}

void name_sample(const MappedTrace& trace, const trace::SampleRecord& record,
                 geiger_sample& sample) {
  if (record.type != 0) sample.type = text_of(trace, record.type);
  for (trace::Ref label = record.label; label != 0 && sample.label_count < GEIGER_MAX_NESTING;
       label = trace.at<trace::NameRecord>(label).owner) {
    sample.labels[sample.label_count++] = text_of(trace, label);
  }
}

std::span<const std::uint64_t> frames_of(const MappedTrace& trace, trace::Ref stack) {
  if (stack == 0) return {};
  return trace::frames_of(trace.record(stack));
}

void weigh_sample(const Drawn& drawn, geiger_sample& sample) {
  const double inclusion =
      drawn.is_certain ? 1 : estimation::inclusion_probability(sample.requested, drawn.lambda);
  sample.weight = 1 / inclusion;
  sample.weighted_bytes = static_cast<double>(sample.requested) * sample.weight;
}

}  // namespace

void end_by(Drawn& drawn, const trace::Record& record, const trace::FreeRecord& free) {
  drawn.is_freed = true;
  drawn.until = free.time;
  drawn.free_stack = free.stack;
  drawn.free_thread = record.header.thread;
}

Drawn as_recorded(const MappedTrace& trace, trace::Ref sample) {
  const trace::SampleRecord& record = trace.sample(sample);
  const auto& epoch = trace.at<trace::EpochRecord>(record.epoch);
  return {.ref = sample,
          .is_certain = (trace.header_of(sample).flags & trace::kFlagCertain) != 0,
          .is_freed = false,
          .interval = epoch.interval,
          .lambda = std::bit_cast<double>(epoch.lambda_bits),
          .until = 0,
          .value = record.requested()};
}

bool thinned(const MappedTrace& trace, trace::Ref sample, std::uint64_t interval, Drawn& drawn) {
  drawn = as_recorded(trace, sample);
  if (interval <= drawn.interval) return true;
  const trace::SampleRecord& record = trace.sample(sample);
  drawn.interval = interval;
  if (drawn.is_certain && record.requested() >= interval && !trace.is_pure()) return true;
  const double lambda = sampling::rate_of(interval);
  if (uniform_of(trace, sample) >= keep_probability(record, drawn, lambda)) return false;
  drawn.lambda = lambda;
  drawn.is_certain = false;
  return true;
}

void read_window(Profile& profile) {
  WindowReader reader(profile);
  profile.unfinished = walk(profile.trace, profile.begin, profile.end, reader);
  if (profile.kind == GEIGER_COMPLETE_LIFETIMES) {
    std::erase_if(profile.samples, [](const Drawn& drawn) { return !drawn.is_freed; });
  }
}

void keep_records(Profile& profile) {
  profile.records.read_from(profile.trace);
  for (Drawn& drawn : profile.samples) {
    drawn.ref = profile.records.add(drawn.ref);
    drawn.free_stack = profile.records.add_stack(drawn.free_stack);
  }
  profile.trace = profile.records.view();
}

void keep_references(Profile& profile, const Directory& directory) {
  for (const Drawn& drawn : profile.samples) {
    for (const std::uint32_t thread :
         {profile.trace.header_of(drawn.ref).thread, drawn.free_thread}) {
      if (thread >= profile.threads.size()) profile.threads.resize(thread + 1);
      profile.threads[thread] = directory.thread(thread);
    }
  }
  profile.modules = directory.modules();
}

geiger_sample sample_of(const MappedTrace& trace, const Drawn& drawn, std::uint32_t tid,
                        std::uint32_t free_tid) {
  const trace::SampleRecord& record = trace.sample(drawn.ref);
  geiger_sample sample{};
  const auto frames = frames_of(trace, record.stack);
  sample.frames = frames.data();
  sample.frame_count = frames.size();
  const auto free_frames = frames_of(trace, drawn.free_stack);
  sample.free_frames = free_frames.data();
  sample.free_frame_count = free_frames.size();
  sample.free_thread = free_tid;
  sample.swapped = drawn.swapped;
  sample.untouched = drawn.untouched;
  sample.address = record.address;
  sample.requested = record.requested();
  sample.usable = record.usable();
  sample.alignment = std::uint64_t{1} << std::min(record.log2_alignment(), 63U);
  sample.offset = drawn.is_certain ? 0 : record.offset;
  sample.value = drawn.value;
  sample.interval = drawn.interval;
  sample.time = record.time;
  sample.lifetime = drawn.until > record.time ? drawn.until - record.time : 0;
  sample.heap = record.heap();
  sample.thread = tid;
  sample.is_certain = drawn.is_certain;
  sample.is_freed = drawn.is_freed;
  name_sample(trace, record, sample);
  weigh_sample(drawn, sample);
  return sample;
}

geiger_sample sample_of(const Profile& profile, const Drawn& drawn) {
  const std::uint32_t thread = profile.trace.header_of(drawn.ref).thread;
  const std::uint32_t free_tid =
      drawn.free_thread == 0 ? 0 : profile.threads[drawn.free_thread].tid;
  return sample_of(profile.trace, drawn, profile.threads[thread].tid, free_tid);
}

// The samples of a token, which may be in several consecutive traces.
//
// A sample that is live when its trace ends is carried into the next one, where its free refers to
// the carried record. A sample that is neither freed nor carried ended in between.

namespace {

/// Index of a profile's samples by their reference in the current trace.
using Living = std::unordered_map<trace::Ref, std::size_t>;

/// The samples that a trace carries over from the previous one.
struct Checkpoint : trace::RecordSink {
  using RecordSink::on;

  void on(const trace::Record& record, const trace::CarriedRecord& layout) {
    if (const auto index = before.take(layout, true)) carried.emplace(record.ref(), *index);
  }
  void on(const trace::Record&, const trace::CheckpointRecord& layout) {
    if (layout.lost == 0) whole_at = layout.time;
  }

  trace::Survivors<std::size_t> before;
  Living carried;
  std::optional<Nanoseconds> whole_at;  ///< All live samples were carried by then.
};

/// Frees of carried samples. Copies the stacks of the frees.
struct Frees : trace::RecordSink {
  using RecordSink::on;

  Frees(Profile& into, Living& carried) : profile(into), living(carried) {}

  void on(const trace::Record& record, const trace::FreeRecord& layout) {
    const auto at = living.find(layout.sample);
    if (at == living.end()) return;
    Drawn& drawn = profile.samples[at->second];
    end_by(drawn, record, layout);
    drawn.free_stack = profile.records.add_stack(drawn.free_stack);
    living.erase(at);
  }

  Profile& profile;
  Living& living;
};

/// Ends a sample whose free has no record.
void end_at(Drawn& drawn, Nanoseconds time) {
  drawn.is_freed = true;
  drawn.until = time;
}

/// Applies this trace's frees, up to `end`, to the samples live at the end of the previous one.
/// Returns those still live.
Living follow(Profile& profile, const MappedTrace& trace, Bytes end, const Living& before) {
  profile.records.read_from(trace);
  Checkpoint checkpoint;
  for (const auto& [ref, index] : before) {
    const trace::SampleRecord& sample = profile.records.view().sample(profile.samples[index].ref);
    checkpoint.before.add(ref, sample.time, sample.address, index);
  }
  walk(trace, trace::kRecordsOffset, trace.end, checkpoint);
  checkpoint.before.for_each_left([&](std::size_t index, Nanoseconds, Address) {
    if (checkpoint.whole_at) end_at(profile.samples[index], *checkpoint.whole_at);
  });
  Frees frees(profile, checkpoint.carried);
  walk(trace, trace::kRecordsOffset, end, frees);
  return std::move(checkpoint.carried);
}

/// The part of a token that is in one trace.
Profile part_of(const Profile& whole, const MappedTrace& trace) {
  Profile part;
  part.kind = whole.has_lifetimes() ? GEIGER_LIFETIMES : GEIGER_ALLOCATIONS;
  part.trace = trace;
  part.begin = trace.image == whole.started.image ? whole.started.at : trace::kRecordsOffset;
  part.end = trace.image == whole.stopped.image ? whole.stopped.at : trace.end;
  part.interval = whole.interval;
  part.to = whole.to;
  return part;
}

/// Adds a part, and its samples that are still live to `living`.
void add(Profile& whole, Profile& part, Living& living) {
  whole.unfinished += part.unfinished;
  whole.largest_interval = std::max(whole.largest_interval, part.largest_interval);
  whole.records.read_from(part.trace);
  for (Drawn& drawn : part.samples) {
    if (whole.has_lifetimes() && !drawn.is_freed) living.emplace(drawn.ref, whole.samples.size());
    drawn.ref = whole.records.add(drawn.ref);
    drawn.free_stack = whole.records.add_stack(drawn.free_stack);
    whole.samples.push_back(drawn);
  }
}

geiger_status read_part(Profile& profile, std::uint32_t number, Directory& directory,
                        Living& living) {
  HeldTrace held;
  const geiger_status status = held.hold(number);
  if (status != GEIGER_OK) return status;
  directory.read(*held, held.first_image());
  Profile part = part_of(profile, *held);
  read_window(part);
  if (number != profile.started.image) living = follow(profile, *held, part.end, living);
  add(profile, part, living);
  return GEIGER_OK;
}

}  // namespace

geiger_status read_token(Profile& profile, Directory& directory) {
  profile.samples.clear();
  profile.records = {};
  profile.unfinished = 0;
  Living living;
  for (std::uint32_t number = profile.started.image; number <= profile.stopped.image; ++number) {
    const geiger_status status = read_part(profile, number, directory, living);
    if (status != GEIGER_OK) return status;
  }
  if (profile.kind == GEIGER_COMPLETE_LIFETIMES) {
    std::erase_if(profile.samples, [](const Drawn& drawn) { return !drawn.is_freed; });
  }
  profile.trace = profile.records.view();
  return GEIGER_OK;
}

namespace {

using estimation::kLocatingShare;

/// Different from the stream of thinning.
constexpr std::uint64_t kPartsStream = 0x68616c766573;

bool is_sure(const Drawn& drawn) { return drawn.is_certain || std::isinf(drawn.lambda); }

estimation::Parts parts_of(const MappedTrace& trace, const Drawn& drawn) {
  if (is_sure(drawn)) return {.in_first = true, .in_second = true};
  const trace::SampleRecord& record = trace.sample(drawn.ref);
  const std::uint64_t random = sampling::thread_seed(trace.header->seed ^ kPartsStream, drawn.ref);
  return estimation::parts_of(record.requested(), record.offset, drawn.lambda, kLocatingShare,
                              random);
}

/// Weighted bytes at a share of the rate.
double weighted_bytes(const trace::SampleRecord& record, const Drawn& drawn, double share) {
  const auto size = static_cast<double>(record.requested());
  if (is_sure(drawn)) return size;
  return size / estimation::inclusion_probability(record.requested(), drawn.lambda * share);
}

/// Interval of the part that estimates.
std::uint64_t interval_of_part(std::uint64_t interval) {
  return static_cast<std::uint64_t>(
      std::llround(static_cast<double>(interval) / (1 - kLocatingShare)));
}

/// What each sample adds to the heap and takes from it: of the part that locates, or of all.
estimation::HeapCourse course_of(const Profile& profile, bool is_split) {
  std::vector<estimation::HeapStep> steps;
  for (const Drawn& drawn : profile.samples) {
    if (is_split && !parts_of(profile.trace, drawn).in_first) continue;
    const trace::SampleRecord& record = profile.trace.sample(drawn.ref);
    estimation::NodeSums sums;
    const double rate = is_sure(drawn) ? HUGE_VAL : drawn.lambda * (is_split ? kLocatingShare : 1);
    sums.add(record.requested(), rate);
    const estimation::HeapBytes bytes = heap_bytes(sums);
    steps.push_back({record.time, bytes});
    if (drawn.is_freed) steps.push_back({drawn.until, -bytes});
  }
  return estimation::HeapCourse(std::move(steps));
}

/// The last instant at which nothing after `instant` is freed yet; `now` where nothing is.
Nanoseconds before_next_free(const Profile& profile, Nanoseconds instant, Nanoseconds now) {
  Nanoseconds last = now;
  for (const Drawn& drawn : profile.samples) {
    if (drawn.is_freed && drawn.until > instant) last = std::min(last, drawn.until - 1);
  }
  return last;
}

bool is_live_at(const Profile& profile, const Drawn& drawn, Nanoseconds instant) {
  const bool is_there = profile.trace.sample(drawn.ref).time <= instant;
  return is_there && (!drawn.is_freed || drawn.until > instant);
}

/// Keeps the samples live at an instant: of the part that estimates, or of all.
void keep_live_at(Profile& profile, Nanoseconds instant, bool is_split) {
  std::erase_if(profile.samples, [&](const Drawn& drawn) {
    const bool is_there = !is_split || parts_of(profile.trace, drawn).in_second;
    return !is_there || !is_live_at(profile, drawn, instant);
  });
  profile.from = profile.to = instant;
  if (!is_split) return;
  for (Drawn& drawn : profile.samples) {
    if (is_sure(drawn)) continue;
    drawn.lambda *= 1 - kLocatingShare;
    drawn.interval = interval_of_part(drawn.interval);
  }
  profile.rate_factor = 1 - kLocatingShare;
}

double live_bytes_at(const Profile& profile, Nanoseconds instant, bool is_split) {
  double bytes = 0;
  for (const Drawn& drawn : profile.samples) {
    if (!is_live_at(profile, drawn, instant)) continue;
    if (is_split && !parts_of(profile.trace, drawn).in_second) continue;
    bytes +=
        weighted_bytes(profile.trace.sample(drawn.ref), drawn, is_split ? 1 - kLocatingShare : 1);
  }
  return bytes;
}

}  // namespace

void read_peak(Profile& profile) {
  profile.kind = GEIGER_LIFETIMES;  // Allocations with their frees.
  read_window(profile);
  profile.kind = GEIGER_PEAK;
  std::erase_if(profile.samples,
                [&](const Drawn& drawn) { return profile.trace.sample(drawn.ref).heap() != 0; });
  const Nanoseconds now = profile.to;
  const estimation::HeapStep largest = course_of(profile, true).largest(0, ~Nanoseconds{0});
  const bool is_any = largest.change.weighted > 0;
  const Nanoseconds instant = is_any ? before_next_free(profile, largest.time, now) : now;
  profile.course = course_of(profile, false);
  // Never below the estimate of all samples at the end.
  const bool is_now =
      instant == now || live_bytes_at(profile, now, false) > live_bytes_at(profile, instant, true);
  const bool is_split = !is_now && !std::ranges::all_of(profile.samples, is_sure);
  keep_live_at(profile, is_now ? now : instant, is_split);
}

}  // namespace geiger::api
