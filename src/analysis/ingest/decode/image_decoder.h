// Turns the records of one image into a part of a recording, and passes on what the next segment
// needs.
#pragma once

#include <tsl/robin_map.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/ingest/decode/image.h"
#include "analysis/ingest/decode/interner.h"
#include "analysis/ingest/decode/segment_sink.h"
#include "analysis/profile/recording/recording.h"
#include "trace/reader.h"
#include "trace/survivors.h"

namespace geiger::ingest {

// What one segment of a process image passes on to the next one that is read.

/// The place of a sample in a recording.
struct SamplePlace {
  std::uint32_t index = profile::kNone;
  bool is_own = true;  ///< In Recording::samples, else in heap_samples.

  [[nodiscard]] profile::Sample& in(profile::Recording& recording) const {
    return is_own ? recording.samples[index] : recording.heap_samples[index];
  }
};

struct ThreadNames {
  std::string first, last;
};

struct Inheritance {
  /// By the thread's number in the traces.
  template <typename Value>
  using ByThread = tsl::robin_map<std::uint32_t, Value, profile::SpreadHash>;

  std::uint32_t process = profile::kNone;  ///< Into Recording::processes; none was read yet.
  std::uint32_t segment = 0;               ///< Number of the last segment read.
  RefIndex samples, heap_samples;          ///< Of its records.
  ByThread<std::uint32_t> threads;         ///< Into Recording::threads.
  ByThread<ThreadNames> thread_names;
  /// Samples without a record in it: of unknown fate, or ended at its checkpoint or one before. A
  /// slow path that took longer than whole segments may carry one on yet.
  std::vector<SamplePlace> older;

  /// The samples that lived at its end.
  [[nodiscard]] trace::Survivors<SamplePlace> survivors(profile::Recording& recording) const;
};

// Turns the records of one image into a part of a recording.

/// Keeps what the records of an image say, in order. References are looked up within the image
/// only: a fork child's trace cannot close its parent's samples.
class ImageDecoder : public SegmentSink<ImageDecoder, SamplePlace> {
 public:
  using SegmentSink::on;

  /// Appends the image's process to the recording, or goes on with the one that
  /// `inherited` names, whose samples must be the last ones there.
  ImageDecoder(profile::Recording& recording, Interner& interner, const Image& image,
               const std::string& path, Inheritance& inherited);

  void on(const trace::Record& record, const trace::FreeRecord& layout);
  void on(const trace::Record& record, const trace::TallyRecord& layout);
  void on(const trace::Record& record, const trace::ThreadRecord& layout);
  void on(const trace::Record& record, const trace::ThreadNameRecord& layout);
  void on(const trace::Record& record, const trace::MarkRecord& layout);
  void on(const trace::Record& record, const trace::ObservationRecord& layout);
  void on(const trace::Record& record, const trace::MappingRecord& layout);
  void on(const trace::Record& record, const trace::UtilizationRecord& layout);
  void on(const trace::Record& record, const trace::ResidencyRecord& layout);
  void on(const trace::Record& record, const trace::FaultRecord& layout);
  void on(const trace::Record& record, const trace::ObjectTypeRecord& layout);

  /// Resolves references that need the whole image, keeps what the next segment needs, and adds
  /// a warning for each kind of record that made no sense. `is_open`: the process still writes.
  void finish(const trace::RecordReader& reader, bool is_open);

  [[nodiscard]] std::uint32_t process() const { return process_; }
  /// Payloads of observations among the records, in order.
  [[nodiscard]] const std::vector<std::string>& observed() const { return observed_; }
  /// The sample of a record; profile::kNone if the record is not a sample.
  [[nodiscard]] std::uint32_t sample_of(trace::Ref ref) const {
    return inherited_.samples.find(ref);
  }

 private:
  friend SegmentSink;

  /// Records whose contents contradict one another; each count is a warning.
  struct Oddities {
    std::uint64_t unknown_types = 0;
    std::uint64_t frees_without_sample = 0;
    std::uint64_t repeated_frees = 0;
    std::uint64_t impossible_utilization = 0;
    std::uint64_t impossible_residency = 0;
    std::uint64_t types_without_object = 0;
  };

  void add_sample(const profile::Sample& sample, trace::Ref ref);
  void carry_on(const SamplePlace& place, trace::Ref ref);
  void survivors_ended() {}  // Unless they are carried on after the checkpoint: finish_segment().
  void fates_thinned();

  [[nodiscard]] std::optional<SamplePlace> sample_at(trace::Ref ref) const;
  [[nodiscard]] std::uint32_t thread_of(std::uint32_t thread) const;
  [[nodiscard]] profile::Thread& thread_at(std::uint32_t number);
  void resolve_threads();
  void finish_process(const trace::RecordReader& reader, bool is_open);
  void finish_segment();
  void warn(const Oddities& oddities);

  profile::Recording& recording_;
  Interner& interner_;
  const trace::FileHeader& header_;
  Inheritance& inherited_;
  bool is_first_;  ///< The first segment of its process that is read.
  std::uint32_t process_;
  /// Where this image's part of each vector begins.
  std::size_t first_sample_, first_heap_sample_, first_mark_, first_mapping_, first_fault_;
  RefIndex samples_, heap_samples_;
  std::string observation_;  ///< Parts of one that is not whole yet.
  std::vector<std::string> observed_;
  std::vector<SamplePlace> freed_before_;  ///< Of earlier segments, freed in this one.
  Oddities oddities_;
};

}  // namespace geiger::ingest
