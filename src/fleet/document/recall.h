// Makes a recording of the sums of a store, so that all reports on recordings also work for a
// fleet.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "analysis/ingest/decode/interner.h"
#include "analysis/profile/recording/recording.h"
#include "analysis/profile/select/kind_rules.h"
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

/// What a row counts for a kind: allocated, or live at the end, which is in milliseconds.
[[nodiscard]] inline std::uint64_t count_of(const SummedRow& row, profile::Kind kind) {
  return kind == profile::Kind::kLiveAtEnd ? row.live_ms : row.allocated;
}

/// Sums over the windows of a host.
struct HostSums {
  std::string host;
  std::string executable;
  std::uint64_t windows = 0;
  std::uint64_t processes = 0;
  std::uint64_t recorded_ms = 0;  ///< Sum over the steps of the grid of their longest window.
  std::uint64_t alive_ms = 0;
  std::uint64_t without_total = 0;  ///< Windows without known exact bytes.
  Bytes exact_bytes = 0, unsettled_bytes = 0;
  Bytes interval = 0;  ///< Largest.
  std::uint32_t thinning = 0;
  std::uint64_t dropped = 0;
  std::uint64_t rss_byte_seconds = 0;
  bool has_pure = false;
  bool is_from_start = true;
};

/// Builds one recording, in which each host is a process. Tallies of live memory count samples
/// times milliseconds; divide by the milliseconds of the range (Profile::averaged_over).
class Recall {
 public:
  /// The kind that rows are counted for: allocated, or live at the end.
  explicit Recall(profile::Kind kind);

  /// Call it before the rows of the host.
  void add_host(const HostSums& host);
  /// A row of the host that was added last.
  void add(const SummedRow& row);
  /// A row of a document of it, for both kinds.
  void add_both(const CountRow& row);

  /// Stacks that rows refer to and that were not added yet.
  [[nodiscard]] std::vector<StackId> missing_stacks() const;
  [[nodiscard]] bool has_location(LocationId id) const { return locations_.contains(id); }
  void add_location(const Location& location);
  /// Its locations must have been added.
  void add_stack(const Stack& stack);

  /// The place that a stack of the finished recording has in it; nothing for one that it does not
  /// have, and for one without frames.
  [[nodiscard]] std::optional<std::uint32_t> place_of_known(StackId stack) const {
    const auto place = stacks_.find(stack);
    return place == stacks_.end() || place->second == profile::kNone ? std::nullopt
                                                                     : std::optional(place->second);
  }
  /// Finishes the recording. Stacks that remain unknown get one frame with a text to that effect.
  [[nodiscard]] profile::Recording finish();

 private:
  profile::Tally& tally_of(const SummedRow& row, std::uint64_t count);
  [[nodiscard]] std::uint32_t process_of(std::uint32_t thinning);
  [[nodiscard]] std::uint32_t place_of(StackId stack);

  profile::Kind kind_;
  profile::Recording recording_;
  ingest::Interner interner_;
  HostSums host_;
  std::map<std::uint32_t, std::uint32_t> processes_;  ///< Processes of the host, by thinning.
  std::unordered_map<LocationId, std::uint32_t> locations_;
  std::vector<StackId> ids_;  ///< In order of the tallies' references, until finish().
  std::unordered_map<StackId, std::uint32_t> references_;
  std::unordered_map<StackId, std::uint32_t> stacks_;
  bool is_counted_ = true;  ///< The totals of all hosts are known.
};

/// What a document counts: as allocated, and as live at the end.
[[nodiscard]] profile::Recording recording_of(const Document& document);

}  // namespace geiger::fleet
