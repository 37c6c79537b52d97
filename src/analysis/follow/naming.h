// Looks up names for the locations of a growing recording, in the background.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <future>
#include <map>
#include <stop_token>
#include <vector>

#include "analysis/profile/recording.h"
#include "analysis/symbolize/symbolize.h"

namespace geiger::follow {

/// Which names: of modules that are read at once, or of all.
enum class NamesOf : std::uint8_t { kSmallModules, kAllModules };

/// In batches, each in a confined process (symbolize/worker.h) that a thread waits for. Modules
/// that take long to read do so one by one and beside the others, whose names wait for none of
/// them. Threads: one.
class Naming {
 public:
  Naming() = default;
  /// Gives up what is under way.
  ~Naming();
  Naming(const Naming&) = delete;
  Naming& operator=(const Naming&) = delete;

  /// Gives `recording` the names that were found and starts the next batches if there are any.
  void update(profile::Recording& recording);
  /// Waits until there are names to give or none are missing, and at most so long.
  void wait(NamesOf which, std::chrono::milliseconds most) const;
  /// Whether update() would give names.
  [[nodiscard]] bool is_ready() const;
  /// Locations that are still looked up, as of the latest update.
  [[nodiscard]] std::size_t missing(NamesOf which) const {
    return small_.missing + (which == NamesOf::kAllModules ? large_.missing : 0);
  }

 private:
  using Locations = std::vector<std::uint32_t>;

  struct Batch {
    profile::Recording recording;  ///< What is needed to name its locations.
    Locations locations;           ///< Of the whole: those of the batch, in order.
  };

  /// What is looked up one batch after the other: of all small modules together, of one large one.
  struct Lane {
    std::map<std::uint32_t, Locations> waiting;  ///< By module.
    std::future<Batch> under_way;
    std::size_t missing = 0;  ///< Locations waiting or under way.
  };

  void sort_in(const profile::Recording& recording);
  Lane& lane_of(const profile::Recording& recording, std::uint32_t module);
  void start(const profile::Recording& recording, Lane& lane, std::size_t modules);
  static void take(profile::Recording& recording, Lane& lane);

  Lane small_, large_;
  std::map<std::uint32_t, bool> is_large_;  ///< By module.
  std::size_t looked_at_ = 0;               ///< Locations that were sorted in.
  std::stop_source stop_;
};

}  // namespace geiger::follow
