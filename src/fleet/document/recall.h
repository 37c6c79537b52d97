// Makes a recording of what a store has added up, so that everything that reads recordings reads
// a fleet.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "analysis/ingest/decode/interner.h"
#include "analysis/profile/kind_rules.h"
#include "analysis/profile/recording.h"
#include "fleet/document/document.h"

namespace geiger::fleet {

/// A row of `counts`, added up over windows.
struct SummedRow {
  StackId stack = 0;
  Bytes size = 0;
  Bytes interval = 0;
  std::uint32_t thinning = 0;
  bool is_certain = false;
  std::uint64_t allocated = 0;
  std::uint64_t live_ms = 0;  ///< Live samples times the milliseconds of their windows.
};

/// The windows of a host, added up.
struct HostSums {
  std::string host;
  std::string executable;
  std::uint64_t windows = 0;
  std::uint64_t processes = 0;
  std::uint64_t recorded_ms = 0;  ///< Of each step of the grid the longest window, added up.
  std::uint64_t alive_ms = 0;
  std::uint64_t without_total = 0;  ///< Windows whose exact bytes are not known.
  Bytes exact_bytes = 0, unsettled_bytes = 0;
  Bytes interval = 0;  ///< Largest.
  std::uint32_t thinning = 0;
  std::uint64_t dropped = 0;
  std::uint64_t rss_byte_seconds = 0;
  bool has_pure = false;
  bool is_from_start = true;
};

/// Builds one recording: each host is a process of it. Of live memory its tallies count samples
/// times milliseconds; divide by the milliseconds of the range (Profile::averaged_over).
class Recall {
 public:
  /// Rows are counted as of this kind: allocated, or live at the end.
  explicit Recall(profile::Kind kind);

  /// Hosts come before their rows.
  void add_host(const HostSums& host);
  /// Of the host that was added last.
  void add(const SummedRow& row);

  /// Stacks that rows refer to and that were not given yet.
  [[nodiscard]] std::vector<StackId> missing_stacks() const;
  [[nodiscard]] bool has_location(LocationId id) const { return locations_.contains(id); }
  void add_location(const Location& location);
  /// Its locations were added before.
  void add_stack(const Stack& stack);

  /// Ends it. Stacks that stay unknown have one frame that says so.
  [[nodiscard]] profile::Recording finish();

 private:
  [[nodiscard]] std::uint32_t process_of(std::uint32_t thinning);
  [[nodiscard]] std::uint32_t place_of(StackId stack);

  profile::Kind kind_;
  profile::Recording recording_;
  ingest::Interner interner_;
  HostSums host_;
  std::map<std::uint32_t, std::uint32_t> processes_;  ///< Of the host, by thinning.
  std::unordered_map<LocationId, std::uint32_t> locations_;
  std::vector<StackId> ids_;  ///< In order of the tallies' references, until finish().
  std::unordered_map<StackId, std::uint32_t> references_;
  std::unordered_map<StackId, std::uint32_t> stacks_;
  bool is_counted_ = true;  ///< The totals of all hosts are known.
};

}  // namespace geiger::fleet
