// Follows one process image over the segments that it writes, and counts its samples into tallies.
#pragma once

#include <tsl/robin_map.h>
#include <tsl/robin_set.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/ingest/decode/image.h"
#include "analysis/ingest/decode/interner.h"
#include "analysis/ingest/decode/segment_sink.h"
#include "analysis/ingest/files.h"
#include "analysis/profile/recording/recording.h"

namespace geiger::follow {

// Samples counted into the tallies of a recording: those alike in all that reports distinguish
// are one, so what is kept grows with the variety of samples and not with their number.

class TallySet {
 public:
  /// Of `recording.tallies`, which nothing else adds to. The recording must outlive it.
  explicit TallySet(profile::Recording& recording);

  /// The index of the tally for samples like this one, new ones with counts of 0. Unlike
  /// tallies of a runtime they distinguish threads.
  [[nodiscard]] std::uint32_t find(const profile::Sample& sample, bool is_tracked);

 private:
  using Tallies = std::reference_wrapper<const std::vector<profile::Tally>>;
  struct Hash {
    Tallies tallies;
    std::size_t operator()(std::uint32_t index) const;
  };
  struct Same {
    Tallies tallies;
    bool operator()(std::uint32_t a, std::uint32_t b) const;
  };

  std::vector<profile::Tally>& tallies_;
  tsl::robin_set<std::uint32_t, Hash, Same, std::allocator<std::uint32_t>, true> known_;
};

// Follows one process image over the segments that it writes.

/// An opened trace, with the facts that identify its image.
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
  bool follows_samples_only = false;  ///< Follower::Detail.
  std::uint64_t samples = 0;          ///< Read so far: numbers samples in the order of reading.
};

/// A sample that has not been freed.
struct LiveCount {
  std::uint64_t number = 0;  ///< In the order of reading.
  Nanoseconds time = 0;
  Address address = 0;
  std::uint32_t tally = 0;
  bool has_ended = false;  ///< At a checkpoint that did not name it, as far as is known.
};

/// Counts what the records of an image say.
class ImageFollower : public ingest::SegmentSink<ImageFollower, LiveCount> {
 public:
  using Progress = ingest::GrowingImage::Progress;

  explicit ImageFollower(Shared& shared) : shared_(shared) {}

  using SegmentSink::on;
  void on(const trace::Record& record, const trace::FreeRecord& layout);
  void on(const trace::Record& record, const trace::ThreadRecord& layout);
  void on(const trace::Record& record, const trace::ThreadNameRecord& layout);
  void on(const trace::Record& record, const trace::TallyRecord& layout);
  void on(const trace::Record& record, const trace::MarkRecord& layout);

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
  [[nodiscard]] Bytes position() const { return image_ ? image_->position() : 0; }
  [[nodiscard]] Bytes end() const { return image_ ? image_->end() : 0; }

  /// Level of thinning, 0 for none.
  [[nodiscard]] std::uint32_t thinning() const { return thinning_.level; }

  /// Adds, by tally, its live samples that were read from number `first` on.
  void count_live_since(std::uint64_t first, std::vector<std::uint64_t>& live) const;

 private:
  friend SegmentSink;
  using LiveSamples = tsl::robin_map<trace::Ref, LiveCount, profile::SpreadHash>;

  struct FollowedThread {
    std::uint32_t index = 0;   ///< Into Recording::threads.
    profile::Thread before;    ///< Its totals in earlier segments.
    std::uint64_t offset = 0;  ///< Of its record in this segment; 0 = none yet.
  };

  bool open_next();
  void begin_segment();
  Progress read_on(Nanoseconds now, Bytes most);

  void add_sample(profile::Sample sample, trace::Ref ref);
  void carry_on(const LiveCount& live, trace::Ref ref);
  void survivors_ended();
  void fates_thinned();
  [[nodiscard]] trace::Survivors<LiveCount> pass_on_live();
  [[nodiscard]] std::uint32_t thread_of(std::uint32_t number) const;
  void refresh_threads();
  void refresh_tallies();
  void refresh_process();

  Shared& shared_;
  std::uint32_t process_ = profile::kNone;
  std::map<std::uint32_t, TraceSegment> waiting_;  ///< By number.
  TraceSegment opened_;                            ///< The one that is read.
  std::optional<ingest::GrowingImage> image_;      ///< Of opened_.
  std::optional<profile::Process> before_;         ///< After the segments before this one.
  LiveSamples live_;
  std::map<std::uint32_t, FollowedThread> threads_;  ///< By number in the trace.
  std::map<std::uint32_t, std::string> names_;       ///< Of threads.
  /// Tallies of an aggregating runtime: their offsets, and their indexes.
  std::vector<std::pair<std::uint64_t, std::uint32_t>> tally_records_;
};

}  // namespace geiger::follow
