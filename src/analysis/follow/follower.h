// A rolling picture of traces that grow, whose locations get their names in the background.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <future>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <tuple>
#include <vector>

#include "analysis/follow/image_follower.h"
#include "analysis/profile/recording/recording.h"
#include "analysis/symbolize/symbolize.h"

namespace geiger::follow {

// Looks up names for the locations of a growing recording, in the background.

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

// A rolling picture of traces that grow: each update reads what was added since the previous one.
//
// Samples are counted, not kept (image_follower.h), so the picture is a recording without instants:
// what was allocated and what lives now, by stack, thread, size, label and type. A profile of
// it is the profile of the traces so far.

/// A point in the stream of samples.
struct Baseline {
  std::uint64_t samples = 0;
  std::vector<std::uint64_t> allocated, live;  ///< By tally.
  std::uint64_t thinnings = 0;                 ///< Levels of all processes, added.
};

/// Changes of the live samples since a baseline, by tally of the picture: new samples that live,
/// and samples that lived at the baseline and went. Those that live at both instants are in
/// neither.
struct Change {
  std::vector<std::uint64_t> came, went;
};

/// Selects, of traces in a directory with others', the images of one process id from an instant on.
struct OnlyProcess {
  std::uint32_t pid = 0;
  Nanoseconds since = 0;  ///< CLOCK_MONOTONIC: when the first of them began.
};

class Follower {
 public:
  /// kSamplesOnly: samples are distinguished by what their estimates depend on, not by thread,
  /// label and type, so that what is kept does not grow with these.
  enum class Detail : std::uint8_t { kAll, kSamplesOnly };

  explicit Follower(Detail detail = Detail::kAll);
  ~Follower();
  Follower(const Follower&) = delete;
  Follower& operator=(const Follower&) = delete;

  /// Follows a trace, unless it is followed already or is not a trace (yet). `shown`: its path for
  /// people.
  void add(const std::string& path, const std::string& shown,
           const std::optional<OnlyProcess>& only = std::nullopt);
  /// As above, of a trace that the caller has opened.
  void add(std::unique_ptr<ingest::InputFile> file, const std::string& shown,
           const std::optional<OnlyProcess>& only = std::nullopt);
  /// The traces of a directory, `shown` as above, that are not known yet.
  void add_all_in(const std::string& directory, const std::string& shown,
                  const std::optional<OnlyProcess>& only);

  /// Reads what was added, at most about `most` bytes; false if there is more.
  bool update(Nanoseconds now, Bytes most = std::numeric_limits<Bytes>::max());

  /// All that was read so far, with the names known by now and without the frames of allocators.
  /// Ends and totals are of now. Starts looking for missing names.
  [[nodiscard]] profile::Recording picture();
  /// The picture as it was recorded: without names, with the frames of allocators. Valid until the
  /// next call of anything here.
  [[nodiscard]] const profile::Recording& recorded();
  /// Waits until all names were looked for, and at most so long; whether they were. The next
  /// picture has them.
  bool await_names(NamesOf which, std::chrono::milliseconds most);
  /// Whether the next picture has names that the latest one has not.
  [[nodiscard]] bool has_new_names() const { return naming_.is_ready(); }
  /// Addresses whose names are still looked up.
  [[nodiscard]] std::size_t names_missing() const { return naming_.missing(NamesOf::kAllModules); }

  [[nodiscard]] Baseline baseline() const;
  /// Of samples since then: allocated, and of these not freed by now. Not of aggregated traces,
  /// whose samples cannot be distinguished.
  [[nodiscard]] profile::Recording picture_since(const Baseline& baseline);
  /// Whether it is known what became of each sample that lived then: not of aggregated traces,
  /// and no longer once samples were thinned out.
  [[nodiscard]] bool can_compare(const Baseline& baseline) const;
  /// Requires that.
  [[nodiscard]] Change change_since(const Baseline& baseline) const;
  /// Whether some process counted its samples itself.
  [[nodiscard]] bool has_aggregated() const;

  /// Whether all processes have ended their recording by themselves.
  [[nodiscard]] bool has_ended() const;
  /// Bytes read, and to be read, of what is followed now.
  [[nodiscard]] Bytes position() const;
  [[nodiscard]] Bytes end() const;
  [[nodiscard]] bool is_empty() const { return images_.empty(); }
  /// The processes as of the latest picture.
  [[nodiscard]] const std::vector<profile::Process>& processes() const {
    return recording_.processes;
  }

 private:
  /// Of one process image: pid, beginning, seed.
  using Identity = std::tuple<std::uint32_t, std::uint64_t, std::uint64_t>;

  [[nodiscard]] profile::Recording finished(profile::Recording picture) const;
  [[nodiscard]] std::uint64_t thinnings() const;

  profile::Recording recording_;
  ingest::Interner interner_;
  TallySet tallies_;
  Shared shared_;
  std::set<std::string> known_;
  std::map<Identity, std::unique_ptr<ImageFollower>> images_;
  Naming naming_;
};

}  // namespace geiger::follow
