// Follows one process image over the segments that it writes.
#pragma once

#include <tsl/robin_map.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/follow/tally_set.h"
#include "analysis/ingest/growing_image.h"
#include "analysis/ingest/input_file.h"
#include "analysis/ingest/interner.h"
#include "analysis/ingest/referents.h"
#include "analysis/profile/hash.h"
#include "analysis/profile/recording.h"
#include "trace/record_sink.h"
#include "trace/survivors.h"

namespace geiger::follow {

/// An opened trace, with what tells to which image it belongs.
struct TraceSegment {
  std::string shown;  ///< Its path for people.
  std::unique_ptr<ingest::InputFile> file;
  std::uint32_t number = 0;
};

/// What the followers of several images share.
struct Shared {
  profile::Recording& recording;
  ingest::Interner& interner;
  TallySet& tallies;
  std::uint64_t samples = 0;  ///< Read so far: numbers samples in the order of reading.
};

/// Counts what the records of an image say.
class ImageFollower : public trace::RecordSink {
 public:
  using Progress = ingest::GrowingImage::Progress;

  explicit ImageFollower(Shared& shared) : shared_(shared) {}

  void on(const trace::Record& record, const trace::SampleRecord& layout);
  void on(const trace::Record& record, const trace::FreeRecord& layout);
  void on(const trace::Record& record, const trace::CarriedRecord& layout);
  void on(const trace::Record& record, const trace::CheckpointRecord& layout);
  void on(const trace::Record& record, const trace::ThinningRecord& layout);
  void on(const trace::Record& record, const trace::ThreadRecord& layout);
  void on(const trace::Record& record, const trace::ThreadNameRecord& layout);
  void on(const trace::Record& record, const trace::TallyRecord& layout);
  void on(const trace::Record& record, const trace::MarkRecord& layout);
  /// What others refer to.
  template <class Layout>
  void on(const trace::Record& record, const Layout& layout) {
    referents_->on(record, layout);
  }

  /// A segment that is not followed yet; read when those before it are.
  void add(TraceSegment segment);

  /// Reads what was added, at most about `most` bytes.
  Progress update(Nanoseconds now, Bytes most);

  /// Brings up to date what changes in place: totals of threads, tallies of the runtime, the
  /// header. Reads no other record.
  void refresh();

  /// Whether the runtime counts its samples itself.
  [[nodiscard]] bool is_counting() const { return !tally_records_.empty(); }
  /// Into Recording::processes; kNone before its first header could be read.
  [[nodiscard]] std::uint32_t process() const { return process_; }
  [[nodiscard]] trace::State state() const;
  [[nodiscard]] std::uint64_t records() const;
  [[nodiscard]] Bytes position() const { return image_ ? image_->position() : 0; }
  [[nodiscard]] Bytes end() const { return image_ ? image_->end() : 0; }

  /// Level of thinning, 0 for none.
  [[nodiscard]] std::uint32_t thinning() const { return thinning_.level; }

  /// Adds, by tally, its live samples that were read from number `first` on.
  void count_live_since(std::uint64_t first, std::vector<std::uint64_t>& live) const;

 private:
  /// A sample that has not been freed.
  struct Live {
    std::uint64_t number = 0;  ///< In the order of reading.
    Nanoseconds time = 0;
    Address address = 0;
    std::uint32_t tally = 0;
  };
  using LiveSamples = tsl::robin_map<trace::Ref, Live, profile::SpreadHash>;

  struct FollowedThread {
    std::uint32_t index = 0;  ///< Into Recording::threads.
    profile::Thread before;   ///< Its totals in earlier segments.
    Bytes pending_before = 0, pending = 0;
    std::uint64_t offset = 0;  ///< Of its record in this segment; 0 = none yet.
  };

  bool open_next();
  void begin_segment();
  Progress read_on(Nanoseconds now, Bytes most);

  void count(const profile::Sample& sample, trace::Ref ref);
  void pass_on_live();
  [[nodiscard]] std::uint32_t thread_of(std::uint32_t number) const;
  void saw(Nanoseconds time) { last_time_ = std::max(last_time_, time); }
  void refresh_threads();
  void refresh_tallies();
  void refresh_process();

  Shared& shared_;
  std::uint32_t process_ = profile::kNone;
  std::map<std::uint32_t, TraceSegment> waiting_;  ///< By number.
  TraceSegment segment_;
  std::optional<ingest::GrowingImage> image_;  ///< Of segment_.
  std::optional<ingest::Referents> referents_;
  std::optional<profile::Process> before_;  ///< After the segments before this one.
  trace::Thinning thinning_;
  Nanoseconds last_time_ = 0, segment_start_ = 0;
  std::uint64_t lost_ = 0;
  bool is_checkpointed_ = false;
  LiveSamples live_;
  trace::Survivors<Live> survivors_;  ///< Of the segment before.
  bool is_next_ = false;  ///< This segment follows that one, nothing is missing between.
  std::map<std::uint32_t, FollowedThread> threads_;  ///< By number in the trace.
  std::map<std::uint32_t, std::string> names_;       ///< Of threads.
  /// Tallies of an aggregating runtime: their offsets, and where they stand.
  std::vector<std::pair<std::uint64_t, std::uint32_t>> tally_records_;
};

}  // namespace geiger::follow
