#include "runtime/capture/sample/live_samples.h"

#include "base/check.h"
#include "base/clock.h"
#include "runtime/capture/guard_mode.h"
#include "runtime/capture/image/checkpoint.h"
#include "runtime/capture/image/image.h"
#include "runtime/capture/sample/write.h"
#include "runtime/capture/tables/filter.h"
#include "trace/writer.h"

namespace geiger::capture {
namespace {

/// 2^-40 of all samples: no cap on memory requires more.
constexpr std::uint32_t kMostLevel = 40;

/// Whether to remove an entry: it is not tracked at this level, or was inherited from the parent,
/// whose objects are not recorded here.
bool is_to_go(const Segment& segment, std::uint64_t key, std::uint64_t value) {
  if (value >> 32 < image.segments.first_number) return true;
  if (!is_of(segment, value)) return false;  // It is being carried.
  return !outlasts_thinning(segment, key, static_cast<trace::Ref>(value));
}

void forget(Segment& segment, std::uint64_t key, std::uint64_t value) {
  filter.remove(reinterpret_cast<const void*>(key), filter.mask());
  if (is_of(segment, value)) write_untracked(segment, static_cast<trace::Ref>(value));
}

GEIGER_SLOW_PATH void thin(Segment& segment) {
  std::uint32_t level = image.live.thinning.load(std::memory_order_relaxed);
  const bool is_ours =
      level < kMostLevel && image.live.thinning.compare_exchange_strong(level, level + 1);
  if (!is_ours) return;
  write_thinning(segment);
  image.live.table.remove_if(
      [&](std::uint64_t key, std::uint64_t value) { return is_to_go(segment, key, value); },
      [&](std::uint64_t key, std::uint64_t value) { forget(segment, key, value); });
}

}  // namespace

const trace::SampleRecord& sample_at(const Segment& segment, trace::Ref record) {
  const auto& sample = segment.writer.at<trace::SampleRecord>(record);
  const auto type = trace::RecordHeader::unpack(sample.header).type;
  return type == trace::RecordType::kCarried
             ? segment.writer.at<trace::CarriedRecord>(record).sample
             : sample;
}

std::uint64_t chance_at(const Segment& segment, const trace::SampleRecord& sample) {
  return trace::chance_of(segment.writer.header()->seed, sample);
}

bool is_tracked(std::uint64_t chance) {
  return trace::is_kept(chance, image.live.thinning.load(std::memory_order_relaxed));
}

bool insert_live(const void* key, std::uint64_t value) {
  if (!image.live.table.insert(reinterpret_cast<std::uint64_t>(key), value)) return false;
  filter.add(key);
  if (filter.is_too_small(image.live.table.size())) {
    filter.grow([](const auto& visit) {
      image.live.table.for_each(visit);
      for_each_guarded_address(visit);
    });
  }
  return true;
}

std::uint64_t take_live(const void* key) {
  const std::size_t mask = filter.mask();
  const std::uint64_t taken = image.live.table.take(reinterpret_cast<std::uint64_t>(key));
  if (taken != 0) filter.remove(key, mask);
  return taken;
}

void track(Segment& segment, const void* key, std::uint64_t value) {
  if (!insert_live(key, value)) {
    segment.writer.count_drop(trace::DropCause::kLiveTableFull);
  }
  Segment& now = *image.segments.current.load(std::memory_order_seq_cst);
  if (&now != &segment) carry(now, segment, reinterpret_cast<std::uint64_t>(key), value);
  if (image.live.table.size() > image.settings.live) [[unlikely]]
    thin(now);
}

void write_thinning(Segment& segment) {
  const std::uint32_t level = image.live.thinning.load(std::memory_order_relaxed);
  if (level == 0) return;
  trace::append<trace::ThinningRecord>(segment.writer, {}, [&](trace::ThinningRecord& record) {
    record.time = base::monotonic_now();
    record.level = level;
  });
}

}  // namespace geiger::capture
