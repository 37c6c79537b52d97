#include "api/profile.h"

#include <algorithm>
#include <bit>
#include <span>
#include <string_view>

#include "estimation/sums.h"
#include "estimation/thinning.h"
#include "sampling/logarithm.h"
#include "sampling/prng.h"

namespace geiger::api {
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

}  // namespace geiger::api
