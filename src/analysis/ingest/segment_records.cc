// Records that bound a recording: what segments open with, thinning, tallies.
#include <algorithm>
#include <string>
#include <utility>

#include "analysis/ingest/image_decoder.h"

namespace geiger::ingest {

using profile::kNone;
using trace::Record;

void ImageDecoder::on(const Record& record, const trace::CarriedRecord& layout) {
  if (const auto known = survivors_.find(layout)) return index(record.ref(), *known);
  auto sample = referents_.sample_from(layout.sample, record.header);
  if (!sample) return;
  // Allocated in what is missing; a sample that raced with the rotation was not.
  if (sample->time < segment_.start) sample->seen_from = segment_.start;
  add_sample(*sample, record.ref());
}

void ImageDecoder::on(const Record& /*record*/, const trace::CheckpointRecord& layout) {
  saw(layout.time);
  is_checkpointed_ = true;
  segment_.lost += layout.lost;
}

void ImageDecoder::on(const Record& /*record*/, const trace::ThinningRecord& layout) {
  saw(layout.time);
  std::uint32_t& level = recording_.processes[process_].thinning;
  level = std::max(level, std::min(layout.level, profile::kMostThinning));
}

void ImageDecoder::on(const Record& record, const trace::TallyRecord& layout) {
  const auto tally = referents_.tally_from(layout, record.header);
  if (!tally) return;
  saw(tally->alike.time);
  saw(tally->last);
  recording_.tallies.push_back(*tally);
}

void ImageDecoder::finish_segment() {
  profile::Process& process = recording_.processes[process_];
  const bool opens_with_checkpoint = (header_.mode & trace::kModeContinued) != 0;
  segment_.is_complete = !opens_with_checkpoint || is_checkpointed_;
  // A checkpoint that was cut off says nothing of those that it does not name.
  if (!is_first_ && is_checkpointed_) survivors_.free_others(process.segments.back().end);
  std::vector<SamplePlace> live = survivors_.still_living();
  const auto add_live = [&](const std::vector<profile::Sample>& samples, std::size_t first,
                            bool is_own) {
    for (std::size_t i = first; i < samples.size(); ++i) {
      if (samples[i].free_time == 0) live.push_back({static_cast<std::uint32_t>(i), is_own});
    }
  };
  add_live(recording_.samples, first_sample_, true);
  add_live(recording_.heap_samples, first_heap_sample_, false);
  inherited_.live = std::move(live);
  process.segments.push_back(segment_);
}

}  // namespace geiger::ingest
