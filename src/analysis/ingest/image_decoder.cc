#include "analysis/ingest/image_decoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <utility>

#include "estimation/sums.h"

namespace geiger::ingest {
namespace {

using profile::kNone;
using trace::Record;
using trace::RecordType;

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

profile::Process process_of(const trace::FileHeader& header, const std::string& path) {
  profile::Process process;
  process.trace_path = path;
  process.executable = text_of(header.executable);
  process.allocator = text_of(header.allocator);
  process.pid = header.pid;
  process.parent_pid = header.parent_pid;
  process.is_fork_child = (header.mode & trace::kModeForked) != 0;
  process.is_pure = (header.mode & trace::kModePure) != 0;
  process.start = header.start_monotonic;
  process.start_realtime = header.start_realtime;
  process.end = header.stop_monotonic;
  process.seed = header.seed;
  process.interval = header.interval;
  if (header.page_size != 0) process.page_bytes = header.page_size;
  process.stop_reason = static_cast<std::uint32_t>(header.stop_reason.load());
  process.stop_errno = header.stop_errno;
  for (std::size_t i = 0; i < process.drops.size(); ++i) process.drops[i] = header.drops[i].load();
  process.image_start = header.image_start;
  process.is_attached = (header.mode & trace::kModeAttached) != 0;
  process.is_aggregated = (header.mode & trace::kModeAggregated) != 0;
  process.ending = ending_of(header.state.load());
  return process;
}

/// Adds what a further segment says of the process; times and counts of records are added
/// once it is read.
void go_on(profile::Process& process, const trace::FileHeader& header) {
  process.end = header.stop_monotonic;
  process.stop_reason = static_cast<std::uint32_t>(header.stop_reason.load());
  process.stop_errno = header.stop_errno;
  for (std::size_t i = 0; i < process.drops.size(); ++i) process.drops[i] += header.drops[i].load();
  process.ending = ending_of(header.state.load());
}

std::string hex_of(std::span<const std::uint8_t> bytes) {
  std::string text;
  for (const std::uint8_t byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

}  // namespace

ImageDecoder::ImageDecoder(profile::Recording& recording, Interner& interner, const Image& image,
                           const std::string& path, Inheritance& inherited)
    : recording_(recording),
      interner_(interner),
      header_(image.header()),
      inherited_(inherited),
      is_first_(inherited.process == kNone),
      survivors_(recording, inherited, header_.segment == inherited.segment + 1),
      process_(is_first_ ? static_cast<std::uint32_t>(recording.processes.size())
                         : inherited.process),
      first_sample_(recording.samples.size()),
      first_heap_sample_(recording.heap_samples.size()),
      first_mark_(recording.marks.size()),
      first_mapping_(recording.mappings.size()) {
  if (is_first_) {
    recording_.processes.push_back(process_of(header_, path));
  } else {
    go_on(recording_.processes[process_], header_);
  }
  inherited_.process = process_;
  segment_.number = header_.segment;
  segment_.start = header_.start_monotonic;
  recording_.processes[process_].trace_bytes += image.extent().size;
  const Bytes interval = header_.interval;
  if (interval >= 1) {
    first_epoch_ =
        interner_.epoch(interval, estimation::rate_of_interval(static_cast<double>(interval)));
  }
}

void ImageDecoder::decode(const Record& record) {
  switch (record.header.type) {
    case RecordType::kSample:
      return decode_sample(record);
    case RecordType::kFree:
      return decode_free(record);
    case RecordType::kStack:
      return decode_stack(record);
    case RecordType::kModule:
      return decode_module(record);
    case RecordType::kThread:
      return decode_thread(record);
    case RecordType::kEpoch:
      return decode_epoch(record);
    case RecordType::kThreadName:
      return decode_thread_name(record);
    case RecordType::kName:
      return decode_name(record);
    case RecordType::kMark:
      return decode_mark(record);
    case RecordType::kMapping:
      return decode_mapping(record);
    case RecordType::kUtilization:
      return decode_utilization(record);
    case RecordType::kCarried:
      return decode_carried(record);
    case RecordType::kCheckpoint:
      return decode_checkpoint(record);
    case RecordType::kThinning:
      return decode_thinning(record);
    case RecordType::kTally:
      return decode_tally(record);
    case RecordType::kNone:
      return;
  }
}

/// Nothing where a sample has no inclusion probability, so that it cannot be weighted.
std::optional<profile::Sample> ImageDecoder::sample_from(const trace::SampleRecord& layout,
                                                         const trace::RecordHeader& header) {
  profile::Sample sample;
  sample.epoch = epoch_of(layout.epoch);
  if (layout.requested() == 0) ++oddities_.empty_samples;
  if (layout.requested() != 0 && sample.epoch == kNone) ++oddities_.samples_without_interval;
  if (layout.requested() == 0 || sample.epoch == kNone) return std::nullopt;
  sample.process = process_;
  sample.thread = header.thread;
  sample.stack = stack_of(layout.stack);
  sample.time = layout.time;
  sample.free_thread = 0;
  sample.address = layout.address;
  sample.requested = layout.requested();
  sample.usable = layout.usable();
  sample.offset = layout.offset;
  sample.cpu = header.cpu;
  sample.entry_point = static_cast<std::uint8_t>(layout.entry_point());
  sample.log2_alignment = static_cast<std::uint8_t>(layout.log2_alignment());
  sample.is_certain = (header.flags & trace::kFlagCertain) != 0;
  sample.label = name_of(layout.label, trace::NameKind::kLabel);
  sample.type = name_of(layout.type, trace::NameKind::kType);
  sample.heap = heap_of(layout.heap());
  return sample;
}

void ImageDecoder::add_sample(const profile::Sample& sample, trace::Ref ref) {
  const bool is_own = sample.heap == profile::kProcessHeap;
  auto& samples = is_own ? recording_.samples : recording_.heap_samples;
  index(ref, {static_cast<std::uint32_t>(samples.size()), is_own});
  samples.push_back(sample);
}

void ImageDecoder::index(trace::Ref ref, SamplePlace place) {
  (place.is_own ? samples_ : heap_samples_).add(ref, place.index);
}

void ImageDecoder::decode_sample(const Record& record) {
  const auto& layout = record.as<trace::SampleRecord>();
  const auto sample = sample_from(layout, record.header);
  if (!sample) return;
  saw(layout.time);
  add_sample(*sample, record.ref());
}

/// 0 means the process's own heap; another id that nobody named is a heap all the same.
std::uint32_t ImageDecoder::heap_of(std::uint16_t id) {
  if (id == 0) return profile::kProcessHeap;
  const auto known = heaps_.find(id);
  if (known != heaps_.end()) return known->second;
  return heaps_[id] = interner_.heap(fmt::format("heap {}", id));
}

std::uint32_t ImageDecoder::name_of(trace::Ref ref, trace::NameKind kind) {
  if (ref == 0) return kNone;
  const auto known = names_.find(ref);
  if (known != names_.end() && known->second.kind == kind) return known->second.index;
  ++oddities_.unknown_names;
  return kNone;
}

/// Whoever goes through the labels around a label may rely on there being few.
void ImageDecoder::decode_label(trace::Ref ref, trace::Ref around, const std::string& text) {
  constexpr std::uint32_t kDeepest = 63;
  std::uint32_t parent = name_of(around, trace::NameKind::kLabel);
  std::uint32_t depth = parent == kNone ? 0 : names_[around].depth + 1;
  if (depth > kDeepest) {
    ++oddities_.unknown_names;
    parent = kNone;
    depth = 0;
  }
  names_[ref] = {trace::NameKind::kLabel, interner_.label(text, parent), depth};
}

void ImageDecoder::decode_name(const Record& record) {
  const auto& layout = record.as<trace::NameRecord>();
  const std::string text(trace::text_of(record));
  switch (layout.kind) {
    case trace::NameKind::kLabel:
      return decode_label(record.ref(), layout.owner, text);
    case trace::NameKind::kType:
      names_[record.ref()] = {layout.kind, interner_.type(text), 0};
      return;
    case trace::NameKind::kHeap:
      heaps_[layout.owner] = interner_.heap(text);
      return;
  }
  ++oddities_.unknown_names;
}

void ImageDecoder::decode_mark(const Record& record) {
  const auto& layout = record.as<trace::MarkRecord>();
  saw(layout.time);
  recording_.marks.push_back(
      {process_, record.header.thread, layout.time, std::string(trace::text_of(record))});
}

void ImageDecoder::decode_mapping(const Record& record) {
  const auto& layout = record.as<trace::MappingRecord>();
  saw(layout.time);
  const bool is_known =
      layout.kind >= trace::MappingKind::kMap && layout.kind <= trace::MappingKind::kProtect;
  if (!is_known) return void(++oddities_.unknown_types);
  profile::MappingEvent event;
  event.kind = static_cast<profile::MappingEvent::Kind>(layout.kind);
  const bool is_remap = layout.kind == trace::MappingKind::kRemap;
  if (is_remap) event.took = layout.protection;
  if (!is_remap) event.protection = static_cast<std::uint8_t>(layout.protection);
  event.flags = layout.flags;
  event.process = process_;
  event.thread = record.header.thread;
  event.stack = stack_of(layout.stack);
  event.time = layout.time;
  event.address = layout.address;
  event.bytes = layout.bytes;
  event.old_address = layout.old_address;
  event.old_bytes = layout.old_bytes;
  recording_.mappings.push_back(event);
}

void ImageDecoder::decode_utilization(const Record& record) {
  const auto& layout = record.as<trace::UtilizationRecord>();
  saw(layout.time);
  const std::uint32_t sample = samples_.find(layout.sample);
  if (sample == kNone || layout.free_bytes > layout.slab_bytes) {
    return void(++oddities_.impossible_utilization);
  }
  recording_.utilization.push_back({sample, layout.time, layout.slab_bytes, layout.free_bytes});
}

std::optional<SamplePlace> ImageDecoder::sample_at(trace::Ref ref) const {
  if (const std::uint32_t own = samples_.find(ref); own != kNone) return SamplePlace{own, true};
  const std::uint32_t other = heap_samples_.find(ref);
  if (other == kNone) return std::nullopt;
  return SamplePlace{other, false};
}

void ImageDecoder::decode_free(const Record& record) {
  const auto& layout = record.as<trace::FreeRecord>();
  saw(layout.time);
  const std::optional<SamplePlace> found = sample_at(layout.sample);
  if (!found) return void(++oddities_.frees_without_sample);
  profile::Sample& sample = found->in(recording_);
  if (sample.free_time != 0) return void(++oddities_.repeated_frees);
  // 0 means alive, and nothing is freed before it was allocated.
  sample.free_time = std::max({layout.time, sample.time, Nanoseconds{1}});
  sample.free_thread = record.header.thread;
  sample.free_cpu = record.header.cpu;
  sample.free_stack = stack_of(layout.stack);
  sample.free_unseen = (record.header.flags & trace::kFlagUnseen) != 0;
  const bool is_earlier = found->index < (found->is_own ? first_sample_ : first_heap_sample_);
  if (is_earlier) freed_before_.push_back(*found);
}

/// Our own frames say nothing about the program: the entry points above the caller,
/// and the trampoline below a thread's function.
bool ImageDecoder::is_in_runtime(std::uint32_t location) const {
  const std::uint32_t module = recording_.locations[location].module;
  return module != kNone && recording_.modules[module].path.ends_with("/libgeiger-preload.so");
}

void ImageDecoder::decode_stack(const Record& record) {
  profile::Stack stack;
  stack.is_truncated = (record.header.flags & trace::kFlagTruncated) != 0;
  const auto frames = trace::frames_of(record);
  stack.locations.reserve(frames.size());
  for (const Address address : frames) {
    const std::uint32_t location = location_of(address);
    if (!is_in_runtime(location)) stack.locations.push_back(location);
  }
  stacks_.add(record.ref(), interner_.stack(stack));
}

void ImageDecoder::decode_module(const Record& record) {
  const auto& layout = record.as<trace::ModuleRecord>();
  profile::Module module;
  module.path = trace::path_of(record);
  module.build_id = hex_of(trace::build_id_of(record));
  module.start = layout.start;
  module.end = layout.end;
  module.bias = layout.bias;
  modules_.insert(layout.start, {layout.end, layout.bias, interner_.module(module)});
  // Not clear(), whose cost is that of the largest size the table ever had.
  locations_ = {};
  saw(layout.time);
}

profile::Thread& ImageDecoder::thread_at(std::uint32_t number) {
  const auto next = static_cast<std::uint32_t>(recording_.threads.size());
  const auto [place, is_new] = inherited_.threads.try_emplace(number, next);
  if (is_new) recording_.threads.emplace_back().process = process_;
  return recording_.threads[place->second];
}

/// A thread has one record in each segment in which it took a slow path, with the totals of
/// that segment; what it may have allocated since is in its latest one.
void ImageDecoder::decode_thread(const Record& record) {
  const auto& layout = record.as<trace::ThreadRecord>();
  profile::Thread& thread = thread_at(record.header.thread);
  thread.tid = layout.tid;
  thread.start = thread.start == 0 ? layout.start : std::min(thread.start, layout.start);
  saw(layout.start);
  if ((record.header.flags & trace::kFlagCarriedThread) != 0) return;
  const Nanoseconds end = layout.end.load(std::memory_order_relaxed);
  thread.end = std::max(thread.end, end);
  const Bytes pending = layout.pending.load(std::memory_order_relaxed);
  const Bytes outdated = std::exchange(inherited_.pending[record.header.thread], pending);
  thread.bytes += layout.bytes.load(std::memory_order_relaxed) + pending - outdated;
  thread.trials += layout.trials.load(std::memory_order_relaxed) + pending - outdated;
  thread.hits += layout.hits.load(std::memory_order_relaxed);
  thread.certain_bytes += layout.certain_bytes.load(std::memory_order_relaxed);
  thread.certain_count += layout.certain_count.load(std::memory_order_relaxed);
  thread.tail_bytes += layout.tail_bytes.load(std::memory_order_relaxed);
  thread.armed = layout.armed.load(std::memory_order_relaxed);
  thread.slow_calls += layout.calls.load(std::memory_order_relaxed);
  saw(end);
}

void ImageDecoder::decode_epoch(const Record& record) {
  const auto& layout = record.as<trace::EpochRecord>();
  saw(layout.time);
  epochs_.add(record.ref(), add_epoch(layout.interval, std::bit_cast<double>(layout.lambda_bits)));
}

void ImageDecoder::decode_thread_name(const Record& record) {
  const auto& layout = record.as<trace::ThreadNameRecord>();
  saw(layout.time);
  inherited_.thread_names[record.header.thread] = text_of(layout.name);
}

std::uint32_t ImageDecoder::location_of(Address address) {
  const auto known = locations_.find(address);
  if (known != locations_.end()) return known->second;
  // A call can be the last instruction of its module: look at the call, not at
  // the return address.
  const Mapping* mapping = address == 0 ? nullptr : modules_.find(address - 1);
  const std::uint32_t location =
      mapping == nullptr ? interner_.location(kNone, address, process_)
                         : interner_.location(mapping->module, address - mapping->bias, process_);
  locations_.emplace(address, location);
  return location;
}

std::uint32_t ImageDecoder::stack_of(trace::Ref ref) {
  const std::uint32_t stack = ref == 0 ? kNone : stacks_.find(ref);
  if (ref != 0 && stack == kNone) ++oddities_.samples_without_stack;
  return stack;
}

std::uint32_t ImageDecoder::epoch_of(trace::Ref ref) {
  return ref == 0 ? first_epoch_ : epochs_.find(ref);
}

/// The rate follows from the interval; a recorded one is taken to the bit, so
/// that weights invert exactly what drew, unless it belongs to another interval.
std::uint32_t ImageDecoder::add_epoch(Bytes interval, double lambda) {
  constexpr double kTolerance = 1e-9;
  const double expected = estimation::rate_of_interval(static_cast<double>(interval));
  const bool belongs = lambda == expected || std::abs(lambda - expected) <= kTolerance * expected;
  if (!belongs || std::isinf(lambda) != std::isinf(expected)) {
    ++oddities_.corrected_rates;
    lambda = expected;
  }
  return interner_.epoch(interval, lambda);
}

void ImageDecoder::saw(Nanoseconds time) { last_time_ = std::max(last_time_, time); }

std::uint32_t ImageDecoder::thread_of(std::uint32_t thread) const {
  const auto place = inherited_.threads.find(thread);
  return thread == 0 || place == inherited_.threads.end() ? kNone : place->second;
}

void ImageDecoder::resolve_threads() {
  for (const auto& [thread, name] : inherited_.thread_names) {
    const std::uint32_t index = thread_of(thread);
    if (index != kNone) recording_.threads[index].name = name;
  }
  const auto resolve = [this](std::vector<profile::Sample>& samples, std::size_t first) {
    for (std::size_t i = first; i < samples.size(); ++i) {
      samples[i].thread = thread_of(samples[i].thread);
      samples[i].free_thread = thread_of(samples[i].free_thread);
    }
  };
  resolve(recording_.samples, first_sample_);
  resolve(recording_.heap_samples, first_heap_sample_);
  for (const SamplePlace& place : freed_before_) {
    profile::Sample& sample = place.in(recording_);
    sample.free_thread = thread_of(sample.free_thread);
  }
  for (std::size_t i = first_mark_; i < recording_.marks.size(); ++i) {
    recording_.marks[i].thread = thread_of(recording_.marks[i].thread);
  }
  for (std::size_t i = first_mapping_; i < recording_.mappings.size(); ++i) {
    recording_.mappings[i].thread = thread_of(recording_.mappings[i].thread);
  }
}

void ImageDecoder::finish(const trace::RecordReader& reader, bool is_open) {
  resolve_threads();
  finish_process(reader, is_open);
  if (header_.image_start != 0) finish_segment();
  inherited_.samples = std::move(samples_);
  inherited_.heap_samples = std::move(heap_samples_);
  inherited_.segment = segment_.number;
  oddities_.unknown_types += reader.unknown();
  warn(oddities_);
}

void ImageDecoder::finish_process(const trace::RecordReader& reader, bool is_open) {
  profile::Process& process = recording_.processes[process_];
  if (process.end == 0) process.end = std::max(last_time_, segment_.start);
  segment_.end = process.end;
  // A segment may stay mapped for a while after its recording ended.
  const bool has_ended =
      process.ending == profile::Ending::kContinued || process.ending == profile::Ending::kStopped;
  if (is_open && !has_ended) process.ending = profile::Ending::kStillOpen;
  process.records += reader.committed();
  process.uncommitted += reader.uncommitted();
}

void ImageDecoder::warn(const Oddities& oddities) {
  const std::string& path = recording_.processes[process_].trace_path;
  const auto line = [&](std::uint64_t count, std::string_view what) {
    if (count != 0) recording_.warnings.push_back(fmt::format("{}: {} {}", path, count, what));
  };
  line(oddities.unknown_types, "records of unknown types, skipped (from a newer geiger?)");
  line(oddities.empty_samples, "samples of 0 bytes, ignored");
  line(oddities.samples_without_interval, "samples without a known interval, ignored");
  line(oddities.samples_without_stack, "references to stacks that were never written");
  line(oddities.frees_without_sample, "frees that name no sample of this trace, ignored");
  line(oddities.repeated_frees, "repeated frees of a sample, ignored");
  line(oddities.unknown_names, "names that were never written or are of another kind, ignored");
  line(oddities.impossible_utilization, "slabs that cannot be as full as they say, ignored");
  line(oddities.impossible_tallies, "tallies with more freed than allocated, corrected");
  line(oddities.corrected_rates, "intervals with a rate that is not theirs, corrected");
}

}  // namespace geiger::ingest
