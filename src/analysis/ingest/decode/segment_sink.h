// Reads from a segment of a process image which samples it begins with, which ones are new, and
// whose fates stay unknown: for the decoder, which keeps samples, and for the follower, which
// counts them.
#pragma once

#include <algorithm>
#include <optional>
#include <utility>

#include "analysis/ingest/decode/referents.h"
#include "analysis/profile/recording.h"
#include "trace/record_sink.h"
#include "trace/survivors.h"

namespace geiger::ingest {

/// Derived has, for what is found out:
///   add_sample(sample, ref)   a sample that was not seen before
///   carry_on(place, ref)      one of the segment before, whose record is this from here on
///   survivors_ended()         what is left of survivors_ ended before this segment
///   fates_thinned()           thinning_ has changed
/// References are looked up within the segment only.
template <class Derived, class Place>
class SegmentSink : public trace::RecordSink {
 public:
  void on(const trace::Record& record, const trace::SampleRecord& layout) {
    const auto sample = referents_->sample_from(layout, record.header);
    if (!sample) return;
    saw(layout.time);
    self().add_sample(*sample, record.ref());
  }

  void on(const trace::Record& record, const trace::CarriedRecord& layout) {
    if (const auto known = survivors_.take(layout, is_next_)) {
      return self().carry_on(*known, record.ref());
    }
    auto sample = referents_->sample_from(layout.sample, record.header);
    if (!sample) return;
    // Allocated in what is missing; a sample that raced with the rotation was not.
    if (sample->time < segment_.start) sample->seen_from = segment_.start;
    self().add_sample(*sample, record.ref());
  }

  void on(const trace::Record& /*record*/, const trace::CheckpointRecord& layout) {
    saw(layout.time);
    segment_.lost += layout.lost;
    if (!std::exchange(is_checkpointed_, true)) self().survivors_ended();
  }

  void on(const trace::Record& /*record*/, const trace::ThinningRecord& layout) {
    saw(layout.time);
    thinning_.add(layout);
    self().fates_thinned();
  }

  /// What others refer to.
  template <class Layout>
  void on(const trace::Record& record, const Layout& layout) {
    if constexpr (requires { layout.time; }) saw(layout.time);
    referents_->on(record, layout);
  }

 protected:
  /// Begins with a segment of a process of the recording. `is_next`: it follows the one that
  /// was read before, whose live samples are `survivors`; none is missing in between.
  void begin(const trace::FileHeader& header, trace::Survivors<Place> survivors, bool is_next) {
    survivors_ = std::move(survivors);
    is_next_ = is_next;
    is_checkpointed_ = false;
    segment_ = {};
    segment_.number = header.segment;
    segment_.start = header.start_monotonic;
  }

  void saw(Nanoseconds time) { last_time_ = std::max(last_time_, time); }

  /// The segment as far as it was read.
  [[nodiscard]] profile::Segment segment_to(Nanoseconds end,
                                            const trace::FileHeader& header) const {
    profile::Segment segment = segment_;
    segment.end = end;
    segment.is_complete = (header.mode & trace::kModeContinued) == 0 || is_checkpointed_;
    return segment;
  }

  std::optional<Referents> referents_;
  trace::Survivors<Place> survivors_;  ///< Of the segment before.
  trace::Thinning thinning_;
  profile::Segment segment_;
  Nanoseconds last_time_ = 0;
  bool is_next_ = false;
  bool is_checkpointed_ = false;

 private:
  Derived& self() { return static_cast<Derived&>(*this); }
};

}  // namespace geiger::ingest
