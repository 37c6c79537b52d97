#include "runtime/capture/program/custom_heap.h"

#include "base/attributes.h"
#include "runtime/capture/image/checkpoint.h"
#include "runtime/capture/image/image.h"
#include "runtime/capture/thread/enrolment.h"
#include "runtime/capture/thread/thread_local.h"

namespace geiger::capture {
namespace {

constexpr std::uint64_t kAddressEnd = std::uint64_t{1} << 48;

/// The number of a heap from 1 up, 0 if the name is not a heap's.
std::uint16_t number_of(NameId heap) {
  const NamedThing thing = name_at(heap);
  return thing.kind == trace::NameKind::kHeap ? static_cast<std::uint16_t>(thing.owner) : 0;
}

/// Sets the type in force for its own lifetime.
class TypeInForce {
 public:
  explicit TypeInForce(NameId type) : before_(tls.naming.type) {
    if (type != 0) tls.naming.type = type;
  }
  TypeInForce(const TypeInForce&) = delete;
  TypeInForce& operator=(const TypeInForce&) = delete;
  ~TypeInForce() { tls.naming.type = before_; }

 private:
  NameId before_;
};

Rate rate_in(const Segment& segment, trace::Ref epoch) {
  const auto& record = segment.writer.at<trace::EpochRecord>(epoch);
  return {.interval = record.interval,
          .lambda = __builtin_bit_cast(double, record.lambda_bits),
          .epoch = epoch,
          .image = segment.number.load(std::memory_order_relaxed),
          .process = image.segments.first_number,
          .is_pure = image.settings.is_pure};
}

}  // namespace

Rate current_rate() {
  if (start_if_due() == Readiness::kNotRecording) return {};
  Segment& segment = current_segment();
  return rate_in(segment, segment.epoch.ref.load(std::memory_order_acquire));
}

Rate rate_of_interval(std::uint64_t interval) {
  const Rate current = current_rate();
  if (current.image == 0 || current.interval == interval) return current;
  Segment& segment = current_segment();
  const trace::Ref epoch = epoch_of_interval(segment, interval);
  return epoch == 0 ? Rate{} : rate_in(segment, epoch);
}

GEIGER_SLOW_PATH Reported report_sample(const Report& report) {
  if (!is_recording()) return Reported::kNotRecording;
  const std::uint16_t heap = number_of(report.heap);
  if (heap == 0) return Reported::kWrongHeap;
  if (report.address >= kAddressEnd || report.address == 0) return Reported::kWrongAddress;
  Segment& segment = current_segment();
  const bool is_of_process = report.rate.image >= image.segments.first_number &&
                             report.rate.image <= segment.number.load(std::memory_order_relaxed);
  if (!is_of_process) return Reported::kOtherImage;
  if (is_paused()) return Reported::kYes;
  ThreadState* state = known_state();
  if (state == nullptr || !enrol(*state, segment) || ref_of_name(segment, report.heap) == 0)
    return Reported::kNotRecording;
  const TypeInForce type(report.type);
  const Decision decision{.state = state,
                          .offset = report.offset,
                          .epoch = report.rate.epoch,
                          .interval = report.rate.interval,
                          .segment = report.rate.image,
                          .is_sample = true,
                          .is_certain = report.is_certain,
                          .is_counted = false};
  record(decision,
         {reinterpret_cast<const void*>(report.address), report.requested, report.usable,
          trace::EntryPoint::kReported, report.alignment, heap},
         report.caller);
  if (is_next_due(segment)) [[unlikely]]
    go_on_in_next();
  return Reported::kYes;
}

Reported report_free(NameId heap, std::uint64_t address, const unwind::Registers& caller) {
  const std::uint16_t number = number_of(heap);
  if (number == 0) return Reported::kWrongHeap;
  if (address >= kAddressEnd) return Reported::kWrongAddress;
  const void* key = key_of(reinterpret_cast<const void*>(address), number);
  if (filter.maybe_holds(key)) release(key, caller);
  return Reported::kYes;
}

}  // namespace geiger::capture
