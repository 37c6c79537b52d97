// The types of a process's live samples of Python objects, as far as snapshots have seen them.
#pragma once

#include <tsl/robin_map.h>

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "analysis/observe/live_set.h"
#include "analysis/observe/pagemap.h"
#include "analysis/observe/process_files.h"
#include "analysis/profile/memory/observations.h"

namespace geiger::observe {

/// What an object is does not change, so each sample is read until its type is known. Samples that
/// are freed keep theirs, for profiles of earlier instants, up to a limit.
class SeenTypes {
 public:
  /// Reads the types of those `samples` that have none; they are kept by keep().
  void read(const ProcessFiles& files, Pagemap& pagemap, std::span<const LiveSample> samples,
            const TraceFollower& follower);
  /// Keeps what was read of those samples that are still alive: the memory of others may have held
  /// another object already. Drops it if the trace cannot be read to its end.
  void keep(TraceFollower& follower, Nanoseconds now);
  /// Why nothing can be read.
  void refuse(std::string reason) { fault_ = std::move(reason); }

  /// In order of references.
  [[nodiscard]] profile::ObjectTypes take();

 private:
  [[nodiscard]] std::uint32_t number(const std::string& name);
  void make_room(const LiveSet& live);

  tsl::robin_map<trace::Ref, std::uint32_t> types_;  ///< Into names_.
  std::vector<std::pair<trace::Ref, std::uint32_t>> read_;
  std::vector<std::string> names_;
  std::map<std::string, std::uint32_t> numbers_;
  std::string fault_;
};

}  // namespace geiger::observe
