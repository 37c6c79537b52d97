#include "analysis/ingest/decode/image_decoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "analysis/ingest/decode/process_facts.h"

namespace geiger::ingest {

trace::Survivors<SamplePlace> Inheritance::survivors(profile::Recording& recording) const {
  trace::Survivors<SamplePlace> survivors;
  const auto add = [&](trace::Ref ref, const SamplePlace& place) {
    const profile::Sample& sample = place.in(recording);
    if (sample.free_time == 0) survivors.add(ref, sample.time, sample.address, place);
  };
  samples.for_each([&](trace::Ref ref, std::uint32_t index) { add(ref, {index, true}); });
  heap_samples.for_each([&](trace::Ref ref, std::uint32_t index) { add(ref, {index, false}); });
  for (const SamplePlace& place : older) {
    const profile::Sample& sample = place.in(recording);
    survivors.add(0, sample.time, sample.address, place);
  }
  return survivors;
}

namespace {

using profile::kNone;
using trace::Record;

}  // namespace

ImageDecoder::ImageDecoder(profile::Recording& recording, Interner& interner, const Image& image,
                           const std::string& path, Inheritance& inherited)
    : recording_(recording),
      interner_(interner),
      header_(image.header()),
      inherited_(inherited),
      is_first_(inherited.process == kNone),
      process_(is_first_ ? static_cast<std::uint32_t>(recording.processes.size())
                         : inherited.process),
      first_sample_(recording.samples.size()),
      first_heap_sample_(recording.heap_samples.size()),
      first_mark_(recording.marks.size()),
      first_mapping_(recording.mappings.size()),
      first_fault_(recording.faults.size()) {
  if (is_first_) {
    recording_.processes.push_back(process_of(header_, path));
  } else {
    go_on(recording_.processes[process_], header_);
  }
  inherited_.process = process_;
  profile::Process& process = recording_.processes[process_];
  process.trace_bytes += image.extent().size;
  thinning_ = {process.seed, process.thinning};
  referents_.emplace(recording, interner, process_, header_.interval);
  begin(header_, inherited.survivors(recording), header_.segment == inherited.segment + 1);
}

void ImageDecoder::add_sample(const profile::Sample& sample, trace::Ref ref) {
  const bool is_own = sample.heap == profile::kProcessHeap;
  auto& samples = is_own ? recording_.samples : recording_.heap_samples;
  samples.push_back(sample);
  carry_on({static_cast<std::uint32_t>(samples.size() - 1), is_own}, ref);
}

/// From here on frees refer to the sample by `ref`. If a checkpoint before did not name it, it has
/// not ended there.
void ImageDecoder::carry_on(const SamplePlace& place, trace::Ref ref) {
  (place.is_own ? samples_ : heap_samples_).add(ref, place.index);
  place.in(recording_).free_time = 0;
}

void ImageDecoder::fates_thinned() { recording_.processes[process_].thinning = thinning_.level; }

void ImageDecoder::on(const Record& record, const trace::TallyRecord& layout) {
  const auto tally = referents_->tally_from(layout, record.header);
  if (!tally) return;
  saw(tally->alike.time);
  saw(tally->last);
  recording_.tallies.push_back(*tally);
}

void ImageDecoder::on(const Record& record, const trace::MarkRecord& layout) {
  saw(layout.time);
  recording_.marks.push_back(
      {process_, record.header.thread, layout.time, std::string(trace::text_of(record))});
}

void ImageDecoder::on(const Record& record, const trace::ObservationRecord& layout) {
  observation_ += trace::text_of(record);
  if (layout.left == 0) observed_.push_back(std::exchange(observation_, {}));
}

void ImageDecoder::on(const Record& record, const trace::MappingRecord& layout) {
  saw(layout.time);
  const bool is_known =
      layout.kind >= trace::MappingKind::kMap && layout.kind <= trace::MappingKind::kProtect;
  if (!is_known) return void(++oddities_.unknown_types);
  profile::MappingEvent event;
  event.kind = layout.kind;
  const bool is_remap = layout.kind == trace::MappingKind::kRemap;
  if (is_remap) event.took = layout.protection;
  if (!is_remap) event.protection = static_cast<std::uint8_t>(layout.protection);
  event.flags = layout.flags;
  event.process = process_;
  event.thread = record.header.thread;
  event.stack = referents_->stack_of(layout.stack);
  event.time = layout.time;
  event.address = layout.address;
  event.bytes = layout.bytes;
  event.old_address = layout.old_address;
  event.old_bytes = layout.old_bytes;
  recording_.mappings.push_back(event);
}

void ImageDecoder::on(const Record& /*record*/, const trace::UtilizationRecord& layout) {
  saw(layout.time);
  const std::uint32_t sample = samples_.find(layout.sample);
  if (sample == kNone || layout.free_bytes > layout.slab_bytes) {
    return void(++oddities_.impossible_utilization);
  }
  recording_.utilization.push_back({sample, layout.time, layout.slab_bytes, layout.free_bytes});
}

void ImageDecoder::on(const Record& /*record*/, const trace::ResidencyRecord& layout) {
  saw(layout.time);
  const std::uint32_t sample = samples_.find(layout.sample);
  if (sample == kNone || layout.resident_bytes > recording_.samples[sample].requested) {
    return void(++oddities_.impossible_residency);
  }
  recording_.residency_answers.push_back({sample, layout.time, layout.resident_bytes});
}

void ImageDecoder::on(const Record& record, const trace::FaultRecord& layout) {
  saw(layout.time);
  if (words_of(layout.kind).key.empty() || words_of(layout.access).key.empty()) {
    return void(++oddities_.unknown_types);
  }
  profile::Fault fault;
  fault.kind = layout.kind;
  fault.access = layout.access;
  fault.process = process_;
  fault.thread = record.header.thread;
  fault.stack = referents_->stack_of(layout.stack);
  fault.time = layout.time;
  fault.address = layout.address;
  fault.object = layout.object;
  fault.bytes = layout.bytes;
  fault.allocated = {layout.allocated, layout.allocated_by,
                     referents_->stack_of(layout.allocated_stack)};
  fault.freed = {layout.freed, layout.freed_by, referents_->stack_of(layout.freed_stack)};
  recording_.faults.push_back(fault);
}

void ImageDecoder::on(const Record& /*record*/, const trace::ObjectTypeRecord& layout) {
  const std::uint32_t sample = samples_.find(layout.sample);
  if (sample == kNone || !vocabulary::is_python_object(recording_.samples[sample].entry_point)) {
    return void(++oddities_.types_without_object);
  }
  recording_.samples[sample].type = referents_->type_of(layout.type);
}

std::optional<SamplePlace> ImageDecoder::sample_at(trace::Ref ref) const {
  if (const std::uint32_t own = samples_.find(ref); own != kNone) return SamplePlace{own, true};
  const std::uint32_t other = heap_samples_.find(ref);
  if (other == kNone) return std::nullopt;
  return SamplePlace{other, false};
}

void ImageDecoder::on(const Record& record, const trace::FreeRecord& layout) {
  saw(layout.time);
  const std::optional<SamplePlace> found = sample_at(layout.sample);
  if (!found) return void(++oddities_.frees_without_sample);
  profile::Sample& sample = found->in(recording_);
  if (sample.free_time != 0) return void(++oddities_.repeated_frees);
  // 0 means alive, and nothing is freed before it was allocated.
  sample.free_time = std::max({layout.time, sample.time, Nanoseconds{1}});
  sample.free_thread = record.header.thread;
  sample.free_cpu = record.header.cpu;
  sample.free_stack = referents_->stack_of(layout.stack);
  sample.free_unseen = (record.header.flags & trace::kFlagUnseen) != 0;
  const bool is_earlier = found->index < (found->is_own ? first_sample_ : first_heap_sample_);
  if (is_earlier) freed_before_.push_back(*found);
}

profile::Thread& ImageDecoder::thread_at(std::uint32_t number) {
  const auto next = static_cast<std::uint32_t>(recording_.threads.size());
  const auto [place, is_new] = inherited_.threads.try_emplace(number, next);
  if (is_new) recording_.threads.emplace_back().process = process_;
  return recording_.threads[place->second];
}

/// A thread has one record in each segment in which it took a slow path, with the totals of
/// that segment; what it may have allocated since is in its latest one.
void ImageDecoder::on(const Record& record, const trace::ThreadRecord& layout) {
  profile::Thread& thread = thread_at(record.header.thread);
  thread.tid = layout.tid;
  thread.start = thread.start == 0 ? layout.start : std::min(thread.start, layout.start);
  saw(layout.start);
  if ((record.header.flags & trace::kFlagCarriedThread) != 0) {
    thread.armed = std::max(thread.armed, Bytes{layout.armed.load(std::memory_order_relaxed)});
    return;
  }
  add_totals(thread, layout);
  saw(layout.end.load(std::memory_order_relaxed));
}

void ImageDecoder::on(const Record& record, const trace::ThreadNameRecord& layout) {
  saw(layout.time);
  ThreadNames& names = inherited_.thread_names[record.header.thread];
  names.last = trace::name_of(layout);
  if (names.first.empty()) names.first = names.last;
}

std::uint32_t ImageDecoder::thread_of(std::uint32_t thread) const {
  const auto place = inherited_.threads.find(thread);
  return thread == 0 || place == inherited_.threads.end() ? kNone : place->second;
}

void ImageDecoder::resolve_threads() {
  for (const auto& [thread, names] : inherited_.thread_names) {
    const std::uint32_t index = thread_of(thread);
    if (index == kNone) continue;
    recording_.threads[index].name = names.last;
    if (names.first != names.last) recording_.threads[index].earlier_name = names.first;
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
  for (std::size_t i = first_fault_; i < recording_.faults.size(); ++i) {
    recording_.faults[i].thread = thread_of(recording_.faults[i].thread);
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
  // A segment may stay mapped for a while after its recording ended.
  const bool has_ended =
      process.ending == profile::Ending::kContinued || process.ending == profile::Ending::kStopped;
  if (is_open && !has_ended) process.ending = profile::Ending::kStillOpen;
  process.records += reader.committed();
  process.uncommitted += reader.uncommitted();
}

void ImageDecoder::finish_segment() {
  profile::Process& process = recording_.processes[process_];
  inherited_.older.clear();
  survivors_.for_each_left([&](const SamplePlace& place, Nanoseconds time, Address /*address*/) {
    inherited_.older.push_back(place);
    profile::Sample& sample = place.in(recording_);
    // A truncated checkpoint does not show what became of the samples that it does not name.
    if (!is_checkpointed_ || sample.free_time != 0) return;
    sample.free_time = std::max({process.segments.back().end, time, Nanoseconds{1}});
  });
  process.segments.push_back(segment_to(process.end, header_));
}

void ImageDecoder::warn(const Oddities& oddities) {
  const std::string& path = recording_.processes[process_].trace_path;
  const ReferenceOddities& references = referents_->oddities();
  const auto line = [&](std::uint64_t count, std::string_view what) {
    if (count != 0) recording_.warnings.push_back(fmt::format("{}: {} {}", path, count, what));
  };
  recording_.is_damaged |= references.samples_without_interval + oddities.repeated_frees +
                               oddities.frees_without_sample + references.impossible_tallies >
                           0;
  line(oddities.unknown_types, "records of unknown types, skipped (from a newer geiger?)");
  line(references.samples_without_interval, "samples without a known interval, ignored");
  line(references.samples_without_stack, "references to stacks that were never written");
  line(oddities.frees_without_sample, "frees of samples that are not in this trace, ignored");
  line(oddities.repeated_frees, "repeated frees of a sample, ignored");
  line(references.unknown_names, "names that were never written or have another kind, ignored");
  line(references.unknown_code, "frames or code of interpreters without their records");
  line(oddities.impossible_utilization, "slabs with impossible fill counts, ignored");
  line(oddities.impossible_residency, "objects with impossible residency, ignored");
  line(oddities.types_without_object, "types of objects that are not there, ignored");
  line(references.impossible_tallies, "tallies with more freed than allocated, corrected");
  line(references.corrected_rates, "intervals with a wrong rate, corrected");
}

}  // namespace geiger::ingest
