// libgeiger-lttng.so: tells LTTng-UST of samples and frees. A library of its own, since
// liblttng-ust starts threads and allocates as it is loaded: preloaded beside the runtime (`geiger
// run --lttng`), it listens there, and passes on to the previous listener.
//
// Threads: stateless once attached. Signals: as LTTng-UST, whose tracepoints may be hit
// in handlers. Fork: a child is traced where liblttng-ust-fork.so is preloaded as well.
// Allocates: what LTTng-UST does when a thread hits its first event.
#include <string.h>

#include <limits>

#include "runtime/capture/interface.h"
#include "runtime/lttng/fire.h"
#include "sampling/exponential.h"

/// Undefined where nothing is captured.
// NOLINTNEXTLINE(readability-redundant-declaration): it is weak here alone.
extern "C" [[gnu::weak]] const geiger::capture::Interface geiger_capture_v1;

namespace geiger::lttng {
namespace {

using capture::TraceView;

constinit const capture::Listener* next = nullptr;

trace::RecordHeader header_of(std::uint64_t word) { return trace::RecordHeader::unpack(word); }

geiger_lttng_text text_of(const TraceView& trace, trace::Ref name) {
  if (name == 0) return {"", 0};
  const auto& record = trace.at<trace::NameRecord>(name);
  return {reinterpret_cast<const char*>(&record + 1), record.text_bytes};
}

void add_frames(geiger_lttng_sample& event, const TraceView& trace, trace::Ref stack) {
  if (stack == 0) return;
  const auto& record = trace.at<trace::StackRecord>(stack);
  event.frames = reinterpret_cast<const std::uint64_t*>(&record + 1);
  event.frame_count = record.count;
}

/// The rate that drew it; a certain sample stands for itself.
double rate_of(const TraceView& trace, const trace::SampleRecord& record) {
  if ((header_of(record.header).flags & trace::kFlagCertain) != 0) {
    return std::numeric_limits<double>::infinity();
  }
  return __builtin_bit_cast(double, trace.at<trace::EpochRecord>(record.epoch).lambda_bits);
}

void fire_sample(const TraceView& trace, trace::Ref sample, const trace::SampleRecord& record) {
  geiger_lttng_sample event{};
  event.address = record.address;
  event.requested = record.requested();
  event.usable = record.usable();
  event.offset = record.offset;
  event.weighted_bytes = sampling::weighted_bytes(record.requested(), rate_of(trace, record));
  event.alignment = std::uint64_t{1} << (record.log2_alignment() & 63);
  event.entry_point = static_cast<std::uint32_t>(record.entry_point());
  event.heap = record.heap();
  event.sample = sample;
  event.thread = header_of(record.header).thread;
  event.type = text_of(trace, record.type);
  event.label = text_of(trace, record.label);
  add_frames(event, trace, record.stack);
  geiger_lttng_fire_sample(&event);
}

void sampled(void* /*context*/, const TraceView& trace, trace::Ref sample,
             const trace::SampleRecord& record) {
  if (geiger_lttng_wants_samples() != 0) fire_sample(trace, sample, record);
  if (next != nullptr) next->sampled(next->context, trace, sample, record);
}

void freed(void* /*context*/, const TraceView& trace, trace::Ref sample,
           const trace::FreeRecord& record) {
  if (geiger_lttng_wants_frees() != 0) {
    const auto& what = trace.at<trace::SampleRecord>(sample);
    const trace::RecordHeader header = header_of(record.header);
    const geiger_lttng_free event{
        .address = what.address,
        .lifetime = record.time > what.time ? record.time - what.time : 0,
        .sample = sample,
        .thread = header.thread,
        .is_unseen = static_cast<std::uint8_t>((header.flags & trace::kFlagUnseen) != 0)};
    geiger_lttng_fire_free(&event);
  }
  if (next != nullptr) next->freed(next->context, trace, sample, record);
}

bool is_wanted(void* /*context*/) {
  if (geiger_lttng_wants_samples() != 0 || geiger_lttng_wants_frees() != 0) return true;
  return next != nullptr && next->is_wanted != nullptr && next->is_wanted(next->context);
}

constexpr capture::Listener kListener{sampled, freed, nullptr, is_wanted};

/// Records of another build may differ: then no events are sent.
bool is_our_build() { return strcmp(geiger_capture_v1.version, GEIGER_VERSION) == 0; }

[[gnu::constructor]] void attach() {
  if (&geiger_capture_v1 == nullptr || !is_our_build()) return;
  std::atomic<const capture::Listener*>& place = *geiger_capture_v1.listener;
  next = place.load(std::memory_order_acquire);
  while (!place.compare_exchange_weak(next, &kListener, std::memory_order_acq_rel)) {
  }
}

}  // namespace
}  // namespace geiger::lttng
