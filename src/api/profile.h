// A profile: a range of the stream of samples that this process records, and what outlives its
// traces.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "api/mapped_trace.h"
#include "estimation/heap_course.h"
#include "geiger/geiger.h"

namespace geiger::api {

// The threads and modules that samples refer to by number or address, not by reference. Each trace
// is read once, up to its end; later traces of the process add to the earlier ones.

class Directory : public trace::RecordSink {
 public:
  using RecordSink::on;

  struct Thread {
    std::uint32_t tid = 0;
    std::string name;  ///< Empty if unknown.
  };
  struct Module {
    Address start, end;  ///< Mapped addresses.
    Address bias;
    std::string path, build_id;  ///< Raw bytes of the id.
    bool operator==(const Module&) const = default;
  };

  /// Continues reading to the end of the trace. Starts again for a trace of another process,
  /// identified by the number of its first segment.
  void read(const MappedTrace& trace, std::uint32_t first_image);

  void on(const trace::Record& record, const trace::ThreadRecord& layout);
  void on(const trace::Record& record, const trace::ThreadNameRecord& layout);
  void on(const trace::Record& record, const trace::ModuleRecord& layout);

  /// By the thread index of a record's header; empty if unknown.
  [[nodiscard]] Thread thread(std::uint32_t index) const;
  /// In the order of their records; if two overlap, the later one counts.
  [[nodiscard]] const std::vector<Module>& modules() const { return modules_; }

 private:
  Thread& thread_at(std::uint32_t index);

  std::uint32_t first_image_ = 0;
  std::map<std::uint32_t, Bytes> read_to_;  ///< By trace; of the last few.
  std::vector<Thread> threads_;
  std::vector<Module> modules_;
};

// Copies of samples and the records they refer to, so that a profile outlives the traces it was
// read from. Equal records are stored once. Has the layout of a trace, including references.

class RecordStore {
 public:
  /// Sets the trace of the following additions, which must stay valid until then.
  void read_from(const MappedTrace& trace);

  /// Copies a sample and returns the reference of the copy. Invalidates views.
  [[nodiscard]] trace::Ref add(trace::Ref sample);

  /// Copies a stack and returns the reference of the copy, 0 for no stack.
  [[nodiscard]] trace::Ref add_stack(trace::Ref stack) { return copied(stack); }

  /// All copies. Valid until the next addition.
  [[nodiscard]] MappedTrace view() const;

 private:
  trace::Ref copied(trace::Ref ref);
  trace::Ref copied_name(trace::Ref ref);
  trace::Ref unique(std::vector<std::uint64_t> record);
  trace::Ref append(const std::uint64_t* words, std::size_t count);

  MappedTrace from_;
  std::vector<std::uint64_t> words_;
  std::unordered_map<trace::Ref, trace::Ref> known_;                ///< Of from_.
  std::unordered_multimap<std::uint64_t, trace::Ref> by_contents_;  ///< By their hash.
};

// A profile: a range of the stream of samples that this process records.
//
// A stopped token keeps only its positions; its samples are read at the first access, if their
// traces still exist. Samples that were read are copied and no longer need their
// trace. Snapshots are read at once.

/// A sample of the profile: thinned, perhaps freed.
struct Drawn {
  trace::Ref ref;
  bool is_certain;
  bool is_freed;
  std::uint64_t interval;  ///< The sample counts as drawn with this one.
  double lambda;
  Nanoseconds until;  ///< Its end, or that of the profile.
  Bytes value;
  trace::Ref free_stack = 0;      ///< The stack that freed it; 0: not recorded.
  std::uint32_t free_thread = 0;  ///< Index of the thread; 0: not known.
  Bytes swapped = 0, untouched = 0;
};

struct Profile {
  geiger_profile_kind kind = GEIGER_ALLOCATIONS;
  Position started, stopped;   ///< Of tokens.
  MappedTrace trace;           ///< Samples refer to it; after reading, the view of `records`.
  Bytes begin = 0, end = 0;    ///< The part of `trace` to read.
  std::uint64_t interval = 0;  ///< To thin to; 0: no thinning.
  Nanoseconds from = 0, to = 0;
  bool counts_carried = false;  ///< Samples live at the start of the trace are included.
  bool is_read = false;

  std::vector<Drawn> samples;
  std::vector<Directory::Thread> threads;  ///< By index; only those in samples.
  std::vector<Directory::Module> modules;
  std::uint64_t largest_interval = 0;  ///< No sample was drawn with a larger one.
  double rate_factor = 1;  ///< Applied to the samples' rates if a part of them chose the instant.
  estimation::HeapCourse course;  ///< GEIGER_PEAK: by all samples.
  std::uint64_t unfinished = 0;
  RecordStore records;

  [[nodiscard]] bool has_lifetimes() const {
    return kind == GEIGER_LIFETIMES || kind == GEIGER_COMPLETE_LIFETIMES;
  }
  [[nodiscard]] bool is_snapshot() const { return kind >= GEIGER_LIVE; }
};

/// Whether a sample is in the stream thinned to a mean interval; sets `drawn`. Deterministic, and a
/// sample of a coarser stream is in every finer one.
[[nodiscard]] bool thinned(const MappedTrace& trace, trace::Ref sample, std::uint64_t interval,
                           Drawn& drawn);

/// Reads the samples between two positions of its trace.
void read_window(Profile& profile);
/// Reads and copies the samples of a token from `started` to `stopped`, which may be in several
/// traces. GEIGER_OVERWRITTEN: some are gone.
[[nodiscard]] geiger_status read_token(Profile& profile, Directory& directory);

/// Copies the samples of its trace, and refers to the copies from then on.
void keep_records(Profile& profile);

/// Copies the directory's threads and modules that the profile's samples refer to.
void keep_references(Profile& profile, const Directory& directory);

/// A sample of the trace in the form for users: `until` = 0 for one without a lifetime. `tid`,
/// `free_tid`: of the threads that allocated and freed it, 0: not known.
[[nodiscard]] geiger_sample sample_of(const MappedTrace& trace, const Drawn& drawn,
                                      std::uint32_t tid, std::uint32_t free_tid);

/// Ends a sample with a free of the trace; the stack's reference is into that trace.
void end_by(Drawn& drawn, const trace::Record& record, const trace::FreeRecord& free);

/// The sample as recorded: with its own rate, and not freed.
[[nodiscard]] Drawn as_recorded(const MappedTrace& trace, trace::Ref sample);

[[nodiscard]] geiger_sample sample_of(const Profile& profile, const Drawn& drawn);

// The peak of what this process has recorded, as analysis/profile/select/peak.h finds it in a
// recording: a quarter of the sampling process locates the instant, the rest estimates.

/// Fills in samples, from and to of a GEIGER_PEAK profile of the process's own heap, from
/// its positions. Rates are those of the rest, unless all samples are certain.
void read_peak(Profile& profile);

}  // namespace geiger::api
