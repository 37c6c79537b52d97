// A profile: the samples of a recording that one question selects, with the probabilities needed to
// answer it without bias.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "analysis/profile/recording/recording.h"
#include "analysis/profile/select/kind_rules.h"
#include "estimation/counts.h"
#include "estimation/heap_course.h"
#include "estimation/sums.h"

namespace geiger::profile {

// Whether a selection contains a sample: yes, no, or unknown.
//
// Unknown samples are open in the sums (estimation/sums.h): nothing in value and lower limit,
// all of it in the upper limit. Rows would otherwise be too small, and look sure of it.

struct Sample;

/// In this order the least of several answers is that of "and", the greatest that of "or".
class Answer {
 public:
  enum Value : std::uint8_t { kNo, kOpen, kYes };

  constexpr Answer(Value value) : value_(value) {}
  /// Of a question that every recording can answer.
  constexpr Answer(bool is_so) : value_(is_so ? kYes : kNo) {}

  /// The answer to the opposite question.
  [[nodiscard]] constexpr Answer operator!() const { return static_cast<Value>(kYes - value_); }
  // NOLINTNEXTLINE(modernize-use-nullptr): the check takes the 0 of a comparison for a pointer.
  friend constexpr auto operator<=>(const Answer&, const Answer&) = default;

 private:
  Value value_;
};

/// Which samples are counted; empty: all of them.
using Keeps = std::function<Answer(const Sample&)>;

/// The answer of a question that may be empty.
[[nodiscard]] inline Answer answer_of(const Keeps& keeps, const Sample& sample) {
  return keeps ? keeps(sample) : Answer::kYes;
}

// Lifetimes by powers of ten: what views group by.

/// 0: freed within 1 us; then decades, from 1 us on; the last but one: after 1000 s and
/// more; the last: alive at the end.
using LifetimeClass = std::uint8_t;
inline constexpr LifetimeClass kLifetimeClasses = 12;
inline constexpr LifetimeClass kAliveAtEnd = kLifetimeClasses - 1;

/// The class of a sample. A life of exactly 10 us is one of "10-100 us".
[[nodiscard]] LifetimeClass lifetime_class_of(const Sample& sample);

/// "< 1 us", "1-10 us", ..., ">= 1000 s", "alive at end". Requires a class.
[[nodiscard]] std::string_view name_of_lifetime(LifetimeClass lifetime);

// A profile: the samples of a recording that one question selects, with the
// probabilities needed to answer it without bias.

/// Which snapshot of a process.
enum class Moment : std::uint8_t { kMaximum, kLast };

/// Samples alike in all that a view can group by: what follows takes time by entries, not by
/// samples.
struct Entry {
  std::uint32_t stack = kNone;
  std::uint32_t process = 0;
  std::uint32_t thread = kNone;
  std::uint32_t epoch = 0;
  Bytes requested = 0;
  Bytes usable = 0;
  std::uint64_t count = 0;
  bool is_certain = false;
  Bytes value = estimation::kWholeSize;  ///< Bytes it stands for, if not `requested`.
  std::uint32_t label = kNone;
  std::uint32_t type = kNone;
  std::uint32_t holder = kNone;
  LifetimeClass lifetime = 0;       ///< If the selection has lifetimes.
  std::uint8_t log2_alignment = 0;  ///< 0: none was asked for.
};

/// What `count` samples like this one are in a profile: with the whole of their size as value and
/// no class of lifetimes.
[[nodiscard]] Entry entry_of(const Recording& recording, const Sample& sample,
                             std::uint64_t count = 1);

struct Teardown;

/// Which samples a profile is made of. Instants are of CLOCK_MONOTONIC.
struct Selection {
  Kind kind = Kind::kAllocated;
  /// kAllocated: allocated at from <= time < to. kLiveAtPeak: the peak among the instants
  /// from <= t < to. Nothing: no limit. What they and `at` mean to kinds of mappings: mappings.h.
  std::optional<Nanoseconds> from, to;
  /// kLiveAtEnd: live at this instant instead, in the processes that were there at it.
  std::optional<Nanoseconds> at;
  /// Whose end "the end" is; empty: of all processes. It is one instant, when the last of them
  /// ended: what ended earlier holds nothing then, so that no more is live at the end than at
  /// the peak.
  std::vector<std::uint32_t> processes = {};
  /// What is live at the end is instead what each process held when it ended: what was never freed.
  /// No heap need ever have held that much.
  bool at_own_ends = false;
  /// `from`, `to` or `at` were chosen by the quarter of the samples that locates peaks (peak.h),
  /// so that the others have to be measured.
  bool is_chosen_by_samples = false;
  std::uint32_t heap = kProcessHeap;  ///< Samples of this heap only.
  Moment moment = Moment::kMaximum;   ///< Of kinds that are read from a snapshot.
  Keeps keeps;                        ///< Filters.
  bool splits_by_lifetime = false;    ///< Entries are distinguished by the lifetimes of objects.
  /// find_teardowns() of all processes where the caller has it, which kLiveAtPeak looks at; it
  /// outlives the selection. Null: looked for.
  const std::vector<Teardown>* teardowns = nullptr;

  /// Whether it leaves out anything of its kind: what is known of the whole is then not
  /// known of what it selects.
  [[nodiscard]] bool is_part() const {
    return from || to || at || heap != kProcessHeap || static_cast<bool>(keeps);
  }
};

/// The selection of the same part for another kind. Live memory of a window is that at its end, and
/// the peak is the one within it.
[[nodiscard]] Selection of_kind(Selection selection, Kind kind);

/// What kLiveAtPeak is the peak of: a heap, among the instants from <= t < to, of all
/// processes together or of `process` alone.
struct PeakScope {
  std::uint32_t heap = kProcessHeap;
  std::optional<Nanoseconds> from, to;
  std::uint32_t process = kNone;

  [[nodiscard]] Nanoseconds first() const { return from.value_or(0); }
  [[nodiscard]] Nanoseconds behind() const { return to.value_or(~Nanoseconds{0}); }
};

/// Of a kLiveAtPeak of which not everything was counted: its total stands for what was there when
/// the heap was largest, which estimate_peak estimates (peak.h). Rows are the heap at the instant.
struct PeakTotal {
  PeakScope within;
  Keeps keeps;                       ///< Filters: what of the heap.
  estimation::HeapBytes whole_heap;  ///< At the instant, without filters.
};

/// The samples that a selection chooses: what a profile counts, one by one.
struct Chosen {
  std::vector<const Sample*> samples;  ///< In the order of the recording.
  std::vector<const Sample*> open;  ///< Those that filters cannot decide about; in the same order.
  double rate_factor = 1.0;         ///< As of Profile.
  std::vector<const Tally*> tallies;  ///< Of aggregated processes, where the filters can decide.
  std::vector<const Tally*> open_tallies;
  double largest_interval = 0;  ///< As of Profile, all entries by their size.
  std::vector<Nanoseconds> peak_times;
  std::optional<PeakTotal> peak;
};

/// Entries index into the recording they were selected from.
struct Profile {
  Kind kind = Kind::kAllocated;
  std::vector<Entry> entries;
  /// The entries were counted at this many instants, or once a second for this many seconds, and
  /// the profile is the mean over them: sums are divided by it (NodeSums::average_over). What lives
  /// for long is counted each time, so that counts added up know less than their number says. > 0.
  double averaged_over = 1;
  /// Samples that count with none to all of their value: filters cannot decide about them, or a
  /// process queried from inside gave no answer (kResident). They are open in the sums.
  std::vector<Entry> open;
  /// The selected samples are distributed as if drawn with this factor on their
  /// rate: 3/4 where a quarter of the process located the peak and the rest
  /// estimates it, else 1.
  double rate_factor = 1.0;
  /// E: the largest interval (over rate_factor) that anything was drawn with, times the
  /// largest ratio of value to size among the entries where that is above 1.
  double largest_interval = 0;
  double largest_ratio = 1;  ///< That ratio.
  /// CLOCK_MONOTONIC instant of kLiveAtPeak per process; empty for other kinds.
  std::vector<Nanoseconds> peak_times;
  std::optional<PeakTotal> peak;
  /// Only a part of its kind: of a window, an instant, another heap, filtered.
  bool is_part = false;
  /// Its contents depend on how long samples live (thinned.h).
  bool is_of_fates = false;
  std::uint32_t heap = kProcessHeap;
};

/// A profile of the same kind, drawn like `profile`, of these entries alone.
[[nodiscard]] Profile with_entries(const Profile& profile, std::vector<Entry> entries);

/// Samples of a tally that a kind counts.
[[nodiscard]] std::uint64_t count_of(const Tally& tally, Kind kind);

/// Chooses samples. Of what was allocated only those whose allocation was recorded; where
/// fates count, those that were not thinned out. kLiveAtPeak: the sampling process is split into
/// two independent ones (peak.h); that of a quarter of the rate locates the instant, the
/// other is selected, with rate_factor = 3/4; certain samples count in both. At T = 1 nothing is
/// uncertain and nothing is split. They point into the recording.
[[nodiscard]] Chosen choose(const Recording& recording, const Selection& selection);

/// Counts the samples that `selection` chooses.
[[nodiscard]] Profile select(const Recording& recording, const Selection& selection);
/// A profile of a kind without further limits.
[[nodiscard]] Profile select(const Recording& recording, Kind kind);

/// The samples of an entry as an estimate counts them, by requested bytes.
[[nodiscard]] estimation::Count count_of(const Entry& entry, const Recording& recording,
                                         const Profile& profile);

/// Adds one entry to a node's sums, by requested bytes. In a mean over instants, each entry counts
/// as one sample or more.
void accumulate(estimation::NodeSums& sums, const Entry& entry, const Recording& recording,
                const Profile& profile);

/// The profile of its open samples alone, each with all of its value.
[[nodiscard]] Profile open_of(const Profile& profile);

/// Sums over the whole profile (E set even when nothing was sampled). The same to the
/// bit in whatever order its entries are.
[[nodiscard]] estimation::NodeSums total(const Recording& recording, const Profile& profile);

// The entries of a profile grouped by what an estimate depends on: size and rate.
//
// Entries are many, their kinds few. Sums over the kinds, in the order given here, are the same to
// the bit in whatever order the traces were read.

struct Kinds {
  estimation::Counts counts;         ///< Canonical, over the whole profile.
  std::vector<std::uint32_t> order;  ///< Per entry, the index of its kind in `counts`;
                                     ///< kNone where it estimates nothing.
};

[[nodiscard]] Kinds kinds_of(const Recording& recording, const Profile& profile);

}  // namespace geiger::profile
