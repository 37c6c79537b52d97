// What a segment of a process image says of samples: which it begins with, which are new, what they
// refer to.
#pragma once

#include <tsl/robin_map.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/ingest/decode/interner.h"
#include "analysis/ingest/decode/interpreted_code.h"
#include "analysis/profile/recording/recording.h"
#include "trace/format.h"
#include "trace/reader.h"
#include "trace/survivors.h"

namespace geiger::ingest {

// Maps record references to indexes.

/// A map from references that are added in rising order. Records are no smaller
/// than three words, so a block of 512 words holds few, and the entries of a
/// block are searched by halves: as fast as a hash table, in a third of its memory.
class RefIndex {
 public:
  /// `ref` is larger than every one added before.
  void add(trace::Ref ref, std::uint32_t index) {
    const std::size_t block = ref >> kBlockBits;
    while (starts_.size() <= block) starts_.push_back(static_cast<std::uint32_t>(entries_.size()));
    entries_.push_back({ref, index});
  }

  /// kNone for a reference that was not added.
  [[nodiscard]] std::uint32_t find(trace::Ref ref) const {
    const std::size_t block = ref >> kBlockBits;
    if (block >= starts_.size()) return profile::kNone;
    const bool is_last = block + 1 == starts_.size();
    const auto begin = entries_.begin() + starts_[block];
    const auto end = is_last ? entries_.end() : entries_.begin() + starts_[block + 1];
    const auto place = std::ranges::lower_bound(begin, end, ref, {}, &Entry::ref);
    return place != end && place->ref == ref ? place->index : profile::kNone;
  }

  /// Calls visit(ref, index) in order of references.
  template <class Visit>
  void for_each(const Visit& visit) const {
    for (const Entry& entry : entries_) visit(entry.ref, entry.index);
  }

 private:
  static constexpr unsigned kBlockBits = 9;
  struct Entry {
    trace::Ref ref;
    std::uint32_t index;
  };
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> starts_;  ///< Per block of references, into entries_.
};

// What samples refer to within one image: stacks with their native and interpreted frames,
// intervals, labels, types and heaps.

/// Samples and what they refer to whose contents make no sense; each count is a warning.
struct ReferenceOddities {
  std::uint64_t samples_without_interval = 0;
  std::uint64_t samples_without_stack = 0;
  std::uint64_t corrected_rates = 0;
  std::uint64_t unknown_names = 0;
  std::uint64_t impossible_tallies = 0;
  std::uint64_t unknown_code = 0;
};

class Referents : public trace::RecordSink {
 public:
  using RecordSink::on;

  /// For the image of `process` that begins with `interval`. Recording and interner must outlive
  /// it.
  Referents(profile::Recording& recording, Interner& interner, std::uint32_t process,
            Bytes interval);

  void on(const trace::Record& record, const trace::StackRecord& layout);
  void on(const trace::Record& record, const trace::ModuleRecord& layout);
  void on(const trace::Record& record, const trace::EpochRecord& layout);
  void on(const trace::Record& record, const trace::NameRecord& layout);
  void on(const trace::Record& record, const trace::InterpreterRecord& layout);
  void on(const trace::Record& record, const trace::CodeRecord& layout);

  /// Its thread and the one that frees it stay numbers of the trace. Nothing where a sample has
  /// no inclusion probability, so that it cannot be weighted.
  [[nodiscard]] std::optional<profile::Sample> sample_from(const trace::SampleRecord& layout,
                                                           const trace::RecordHeader& header);
  /// The tally with its present counts.
  [[nodiscard]] std::optional<profile::Tally> tally_from(const trace::TallyRecord& layout,
                                                         const trace::RecordHeader& header);

  /// The stack of a record's reference; kNone of 0 and of what was never written.
  [[nodiscard]] std::uint32_t stack_of(trace::Ref ref);
  /// The type of a record's reference; kNone of 0 and of what was never written.
  [[nodiscard]] std::uint32_t type_of(trace::Ref ref) {
    return name_of(ref, trace::NameKind::kType);
  }

  [[nodiscard]] const ReferenceOddities& oddities() const { return oddities_; }

 private:
  void take_label(trace::Ref ref, trace::Ref around, const std::string& text);

  [[nodiscard]] std::uint32_t location_of(std::uint64_t word);
  [[nodiscard]] std::uint32_t native_location(Address address);
  [[nodiscard]] std::uint32_t interpreted_location(const trace::InterpretedFrame& frame);
  void mark_interpreters();
  [[nodiscard]] bool is_in_runtime(std::uint32_t location) const;
  [[nodiscard]] std::uint32_t epoch_of(trace::Ref ref);
  [[nodiscard]] std::uint32_t add_epoch(Bytes interval, double lambda);
  [[nodiscard]] std::uint32_t name_of(trace::Ref ref, trace::NameKind kind);
  [[nodiscard]] std::uint32_t heap_of(std::uint16_t id);
  [[nodiscard]] std::uint32_t untold_stack();

  profile::Recording& recording_;
  Interner& interner_;
  std::uint32_t process_;
  std::uint32_t first_epoch_ = profile::kNone;  ///< Of the header's interval.
  std::uint32_t untold_stack_ = profile::kNone;
  RefIndex stacks_;
  RefIndex epochs_;
  ModuleMap modules_;
  tsl::robin_map<Address, std::uint32_t, profile::SpreadHash>
      locations_;  ///< By word of a stack. Valid until the next module.
  InterpretedCode code_;
  std::vector<Address> interpreters_;  ///< Where those lie whose module is not known yet.
  /// A name's record, decoded: its kind, and the index of the label or type.
  struct KnownName {
    trace::NameKind kind;
    std::uint32_t index;
    std::uint32_t depth = 0;  ///< Of a label: those around it.
  };
  tsl::robin_map<trace::Ref, KnownName, profile::SpreadHash> names_;
  tsl::robin_map<std::uint32_t, std::uint32_t, profile::SpreadHash> heaps_;  ///< By heap id.
  ReferenceOddities oddities_;
};

// Reads from a segment of a process image which samples it begins with, which ones are new, and
// whose fates stay unknown: for the decoder, which keeps samples, and for the follower, which
// counts them.

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
    sample->seen_from = segment_.start;  // Allocated, and counted, in what is missing.
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
