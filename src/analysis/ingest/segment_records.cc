// Records that bound a recording: what segments open with, thinning, tallies.
#include <algorithm>
#include <string>
#include <utility>

#include "analysis/ingest/image_decoder.h"

namespace geiger::ingest {

using profile::kNone;
using trace::Record;

void ImageDecoder::on(const Record& record, const trace::CarriedRecord& layout) {
  if (const auto known = survivors_.take(layout, is_next_)) return index(record.ref(), *known);
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
  profile::Process& process = recording_.processes[process_];
  trace::Thinning thinning{process.seed, process.thinning};
  thinning.add(layout);
  process.thinning = thinning.level;
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
  inherited_.older.clear();
  survivors_.for_each_left([&](const SamplePlace& place, Nanoseconds time, Address /*address*/) {
    // A checkpoint that was cut off says nothing of those that it does not name.
    if (!is_checkpointed_) return inherited_.older.push_back(place);
    const Nanoseconds end = process.segments.back().end;
    place.in(recording_).free_time = std::max({end, time, Nanoseconds{1}});
  });
  process.segments.push_back(segment_);
}

}  // namespace geiger::ingest
