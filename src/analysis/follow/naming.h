// Names for the locations of a recording that grows, looked up beside it.
#pragma once

#include <future>
#include <memory>
#include <vector>

#include "analysis/profile/recording.h"

namespace geiger::follow {

/// One batch at a time, in a confined process (symbolize/worker.h) that a thread waits for;
/// what is new meanwhile is the next batch. Threads: one.
class Naming {
 public:
  /// Gives `recording` the names that were found and starts the next batch if there is one.
  void update(profile::Recording& recording);
  /// Waits until the batch under way is done; false if there is none.
  bool wait();

 private:
  struct Batch {
    profile::Recording recording;          ///< What is needed to name its locations.
    std::vector<std::uint32_t> locations;  ///< Of the whole: those of the batch, in order.
  };

  void start(const profile::Recording& recording);
  void take(profile::Recording& recording, Batch batch);

  std::future<Batch> under_way_;
  std::size_t looked_at_ = 0;  ///< Locations that were in some batch.
};

}  // namespace geiger::follow
