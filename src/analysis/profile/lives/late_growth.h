// What a site grew by where its process had objects from before the recording.
//
// Frees of those objects leave no record. So the seen growth of a site, K, is its true growth G
// plus its unseen frees: before its first turnover a full cache has the same samples as a leak.
// What bounds G from below is the memory in use, read from outside: where the chunks of a size grew
// by dH, which is the sum of G over their sites,
//   G >= dH - (K of the other sites),
// as if all unseen frees were the site's. Without walks G >= K - H, where H is what the process had
// in memory at the start, or what a child by fork inherited of its parent's live objects.
// docs/internals/estimators.md, Recordings that begin late.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "analysis/profile/lives/teardown.h"
#include "analysis/profile/recording/recording.h"
#include "estimation/estimate.h"

namespace geiger::profile {

/// What bounds the growth of a site from below.
struct LateGrowth {
  enum class By : std::uint8_t {
    kNothing,    ///< No walk met its chunks, and the memory at the start was not read.
    kMemory,     ///< The process's memory at the start of the recording.
    kChunks,     ///< The chunks of its sizes in use.
    kInherited,  ///< The live objects of the parent when it forked.
  };
  By by = By::kNothing;
  /// It grew by this many bytes at least: by less with a probability of at most (1 - level) / 2.
  /// kNothing: minus infinity.
  double at_least = -std::numeric_limits<double>::infinity();
  double seconds = 0;  ///< That it grew in, over its processes.
  /// kChunks: bytes in use of its sizes at both ends of that time. kMemory: resident and swapped
  /// bytes at the start. kInherited: an upper limit of the live bytes then.
  double in_use_from = 0, in_use_to = 0;
  Bytes chunk = 0;             ///< kChunks: the size if there is only one, else 0.
  std::vector<Bytes> growing;  ///< kChunks: the sizes of its chunks that keep growing.
  double kept = 0;             ///< Bytes allocated in the recording and live at its end, estimated.
  /// Seconds of recording that find a leak of a tenth of what it kept with power .8, unless other
  /// sites' unseen frees hide it. 0 if it kept nothing.
  double decided_after = 0;
  double p_value = 1;  ///< Of the hypothesis that it did not grow.
};

/// Chunks of one size whose number in use kept growing.
struct GrowingChunks {
  std::uint32_t process = 0;
  Bytes chunk = 0;
  double bytes = 0;               ///< Growth, counted.
  estimation::Interval interval;  ///< By the program's scatter.
  double seconds = 0;
  double p_value = 1, q_value = 1;
};

/// Judges sites by the memory in use.
class LateGrowthTest {
 public:
  struct Options {
    double from = 0.25;  ///< Share of each process's time that is not judged, in [0, 1).
    double level = 0.95;
    double q = 0.05;  ///< Of growing chunks.
  };

  /// `active` by process.
  LateGrowthTest(const Recording& recording, std::span<const ActiveTime> active,
                 const Options& options);

  /// Whether a process of the samples had objects from before its recording.
  [[nodiscard]] bool concerns(std::span<const std::uint32_t> samples) const;

  /// Of a site, whose samples these are: the bound, with its sampling error and its scatter. The
  /// p-value leaves the sampling error of its own samples out.
  [[nodiscard]] LateGrowth judge(std::span<const std::uint32_t> samples) const;

  /// Significantly growing chunks, the fastest first.
  [[nodiscard]] const std::vector<GrowingChunks>& growing() const { return growing_; }

 private:
  static constexpr std::size_t kBounds = kLeakWindows + 1;
  /// Of a process: the bounds of its windows, which are at walks if it is `is_walked`.
  struct Time {
    std::array<Nanoseconds, kBounds> bounds{};
    std::array<const ChunkCensus*, kBounds> walks{};
    bool is_walked = false;
  };
  /// Objects that came less those that went, estimated by the samples at hand.
  struct Flow {
    std::array<double, kLeakWindows> changes{};
    double variance = 0;  ///< Of their sum.
  };
  struct Chunks {
    std::array<double, kBounds> in_use{};
    Flow seen;
  };
  /// Process and chunk; kAllSeen: of a process that is recorded from its start.
  using Key = std::pair<std::uint32_t, Bytes>;
  static constexpr Bytes kAllSeen = 0;
  /// Of a site; its flow is of bytes where all is seen.
  struct Part {
    Flow seen;
    double objects = 0, bytes = 0;
  };

  [[nodiscard]] Time time_of(std::uint32_t process, const ActiveTime& active,
                             const LeakWindows& windows) const;
  void count_chunks();
  void find_growing();
  [[nodiscard]] double objects_of(const Sample& sample) const;
  /// Nothing if no walk meets the sample's chunk.
  [[nodiscard]] std::optional<Key> key_of(const Sample& sample) const;
  /// If not in a chunk of it, the sample has a mapping of its own.
  [[nodiscard]] bool is_in_walked_heap(const Sample& sample) const;
  void add(const Sample& sample, double weight, Flow& flow) const;
  /// Without objects that have mappings of their own, if these are the smaller part of what is
  /// kept: a table of what grows. Nothing if another sample has no key.
  [[nodiscard]] std::optional<std::map<Key, Part>> parts_of(
      std::span<const std::uint32_t> samples) const;
  void judge_by_chunks(const std::map<Key, Part>& parts, double kept_per_second,
                       LateGrowth& growth) const;
  void judge_by_memory(std::span<const std::uint32_t> samples, double kept_per_second,
                       LateGrowth& growth) const;
  [[nodiscard]] LeakChanges changes_of(const std::array<double, kLeakWindows>& values,
                                       std::span<const std::uint32_t> processes) const;

  const Recording& recording_;
  Options options_;
  double largest_interval_;
  std::vector<Time> times_;  ///< By process.
  /// By process, at most this many bytes at the start; nothing: not known, or not needed.
  std::vector<std::optional<double>> had_;
  std::map<Key, Chunks> chunks_;
  std::vector<GrowingChunks> growing_;
};

}  // namespace geiger::profile
