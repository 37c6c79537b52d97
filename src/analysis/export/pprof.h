// Writes pprof's profile.proto, gzipped, and its comments.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analysis/export/profile_rows.h"
#include "analysis/export/streams/sink.h"
#include "analysis/profile/lives/leaks.h"
#include "analysis/profile/recording/recording.h"
#include "analysis/profile/select/profile.h"

namespace geiger::exports {

// Writes pprof's profile.proto, gzipped, which `go tool pprof` and its relatives read.
//
// Sample types, in this order:
//   alloc_objects/count  alloc_space/bytes  inuse_objects/count  inuse_space/bytes
//   the variance of each (alloc_objects_variance/count^2, ...), and the numbers
//   of samples behind them (samples/count, inuse_samples/count).
// Values are estimates, unsampled already. Variances add up like the values do,
// so the variance that pprof shows at any node is that node's.

struct PprofOptions {
  /// Shown by pprof above every report: totals with their intervals.
  std::vector<std::string> comments;
  /// default_sample_type is alloc_space whatever is live.
  bool is_of_allocated = false;
  RowExtent extent = {};
  /// Stacks whose rows have the labels "leak" and, of an owner, "leak_owner". Not of stacks only.
  profile::AccusedStacks accused = {};
};

/// Writes one gzipped profile. `allocated` and `live` (at the end, an instant, the peak)
/// are profiles of `recording`. Samples have the labels "bytes" (the requested size, a
/// number), "thread", "type" and those of the program (pprof/profile_proto.h), where they are
/// known. Integers are rounded so that the sum of each column is the rounded sum of the estimates.
/// default_sample_type is inuse_space if anything is live, else alloc_space.
void write_pprof(const profile::Recording& recording, const profile::Profile& allocated,
                 const profile::Profile& live, const PprofOptions& options, const Sink& sink);

// The comments of a pprof profile, which pprof shows above every report: where the numbers come
// from, and how uncertain the totals are.

/// `allocated`: null where the alloc_* columns are empty. `level`: of the intervals, in (0, 1).
/// `part`: what part of the recording it is, a line; empty: all of it.
[[nodiscard]] std::vector<std::string> pprof_comments(const profile::Recording& recording,
                                                      const profile::Profile* allocated,
                                                      const profile::Profile& live, double level,
                                                      std::string_view part);

}  // namespace geiger::exports
