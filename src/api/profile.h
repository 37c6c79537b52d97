// A profile: samples of the one stream that this process records, chosen by position.
//
// A token that has stopped keeps its positions only; its samples are read when they are first asked
// for, if their traces are still there. What was read is copied (record_store.h), and no longer
// needs its trace. Snapshots are read at once.
#pragma once

#include <cstdint>
#include <vector>

#include "api/directory.h"
#include "api/mapped_trace.h"
#include "api/record_store.h"
#include "geiger/geiger.h"

namespace geiger::api {

/// A sample as the profile has it: thinned, perhaps freed.
struct Drawn {
  trace::Ref ref;
  bool is_certain;
  bool is_freed;
  std::uint64_t interval;  ///< It counts as drawn with this one.
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
  MappedTrace trace;           ///< That samples refer to: once it is read, that of `records`.
  Bytes begin = 0, end = 0;    ///< The part of it that is read.
  std::uint64_t interval = 0;  ///< To thin to; 0: no thinning.
  Nanoseconds from = 0, to = 0;
  bool counts_carried = false;  ///< What lived when the trace began is part of it too.
  bool is_read = false;

  std::vector<Drawn> samples;
  std::vector<Directory::Thread> threads;  ///< By index, of those in samples.
  std::vector<Directory::Module> modules;
  std::uint64_t largest_interval = 0;  ///< Nothing in it was drawn with a larger one.
  double rate_factor = 1;  ///< On the rates that drew the samples: where a part of them chose.
  std::uint64_t unfinished = 0;
  RecordStore records;

  [[nodiscard]] bool has_lifetimes() const {
    return kind == GEIGER_LIFETIMES || kind == GEIGER_COMPLETE_LIFETIMES;
  }
  [[nodiscard]] bool is_snapshot() const { return kind >= GEIGER_LIVE; }
};

/// Whether a sample is in the stream thinned to a mean interval, and as what. The answer
/// is always the same, and what is in a coarser stream is in every finer one.
[[nodiscard]] bool thinned(const MappedTrace& trace, trace::Ref sample, std::uint64_t interval,
                           Drawn& drawn);

/// Reads the samples between two positions of its trace.
void read_window(Profile& profile);
/// Reads the samples of a token, which may be in several traces, from `started` to `stopped`;
/// copies what it reads. GEIGER_OVERWRITTEN: some of it is gone.
[[nodiscard]] geiger_status read_token(Profile& profile, Directory& directory);

/// Copies the samples of its trace; refers to the copies from here on.
void keep_records(Profile& profile);

/// Keeps of the directory what the profile's samples refer to.
void keep_references(Profile& profile, const Directory& directory);

/// A sample of the trace as users see it: `until` = 0 for one without a lifetime. `tid`,
/// `free_tid`: of the threads that allocated and freed it, 0: not known.
[[nodiscard]] geiger_sample sample_of(const MappedTrace& trace, const Drawn& drawn,
                                      std::uint32_t tid, std::uint32_t free_tid);

/// Ends a sample as a record of the trace says; its stack is one of that trace.
void end_by(Drawn& drawn, const trace::Record& record, const trace::FreeRecord& free);

/// The sample as recorded: with its own rate, and not freed.
[[nodiscard]] Drawn as_recorded(const MappedTrace& trace, trace::Ref sample);

[[nodiscard]] geiger_sample sample_of(const Profile& profile, const Drawn& drawn);

}  // namespace geiger::api
