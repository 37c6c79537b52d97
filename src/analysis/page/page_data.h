// What a report page is made of, as web/src/data.ts states it field by field: the page reads
// this as JSON. Pure data; the other files of this room fill it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/profile/recording.h"
#include "analysis/report/overview/summary_facts.h"
#include "estimation/estimate.h"

namespace geiger::page {

/// Index into PageData::names; kNoName where there is none.
using NameIndex = std::int32_t;
inline constexpr NameIndex kNoName = -1;

/// Bits of Frames::flags.
enum FrameFlag : std::uint8_t {
  kInlined = 1,
  kPlumbing = 2,
  kUnknown = 4,
  kRemark = 8,
  kOwn = 16,
  kDispatch = 32,
  kCut = 64,      ///< Stacks with it passed through other functions too, which are not in them.
  kRuntime = 128  ///< Of an unknown one: in the C or C++ runtime, whose own it is taken for.
};

struct Frames {
  std::vector<NameIndex> name, module, file;
  std::vector<std::uint32_t> line;
  std::vector<std::uint8_t> flags;
};

struct Nodes {
  std::vector<std::uint32_t> up;  ///< Distance from the node back to its parent; 0 for the root.
  std::vector<std::uint32_t> frame;
};

/// What one object of a stratum adds to sums (estimation/sums.h).
struct Stratum {
  bool is_certain = false;
  bool is_open = false;  ///< In SampleSums open, with the columns below.
  double bytes = 0, weighted = 0, variance = 0;
  double objects = 0, objects_variance = 0, covariance = 0;
  double interval = 0;               ///< E_least of these alone; 0 of certain ones.
  double largest_interval = 0;       ///< E of these alone.
  double largest_object_weight = 0;  ///< c
  double smallest_size = 0;          ///< z_min; 0 of certain ones.
  double largest_size = 0;           ///< z_max
  std::int32_t size_class = -1;      ///< Power of two of the requested bytes; -1: none.
};

/// Born before the first bucket; alive at the end.
inline constexpr std::int32_t kBornBefore = -1, kAliveAtEnd = -1;

/// Samples alike in all that the page can tell apart.
struct Cell {
  std::uint32_t node = 0;
  std::uint32_t stratum = 0;
  NameIndex process = kNoName, thread = kNoName, type = kNoName, label = kNoName;
  std::int32_t born = kBornBefore;
  std::int32_t died = kAliveAtEnd;
  std::uint64_t count = 0;
};

struct Cells {
  std::vector<Stratum> strata;
  std::vector<Cell> cells;  ///< By node, ascending.
  bool has_processes = false, has_threads = false, has_types = false, has_labels = false;
  bool has_times = false;
  bool has_open = false;  ///< Some stratum is.
  bool has_mean_sizes = false;
};

/// What of the cells a profile counts.
enum class Counts : std::uint8_t { kBorn, kAlive, kAll };

/// A part of what a function holds (report/finding.h).
struct PagePart {
  NameIndex function = kNoName;
  bool is_own = false;  ///< A line of the function itself.
  std::string place;    ///< As PageSite::place.
  double share = 0;
  estimation::Interval limits;
};

/// A function that a finding names (report/finding.h).
struct PageSite {
  std::uint32_t node = 0;  ///< Where the stack with most of its bytes ends.
  NameIndex function = kNoName;
  std::string place;    ///< "leaky.cc:25 +2"; may be empty.
  std::string process;  ///< Of several the one with most of it.
  double share = 0;
  estimation::Interval limits;
  std::vector<PagePart> parts;  ///< Of one that holds nearly everything.
};

struct PageFinding {
  std::string verdict;  ///< "found", "spread", "too_few", "empty", "nothing".
  std::vector<PageSite> sites;
};

struct PageProfile {
  std::string kind, title, about;
  std::string unavailable;  ///< Why it has no figures; empty if it has.
  std::int32_t cells = -1;  ///< Into PageData::cells; -1: unavailable.
  Counts counts = Counts::kAll;
  double largest_interval = 0;
  double object_interval = 0;           ///< E_o
  std::optional<double> complete_from;  ///< It has every object of at least so many bytes.
  std::optional<Bytes> exact_total;
  bool calibrates = false;
  estimation::Estimate bytes, objects;
  PageFinding finding;  ///< Of all of it.
};

/// Samples of a thread of this name were allocated under it or under the other one.
struct MayBe {
  NameIndex thread = kNoName, other = kNoName;
};

/// Times in nanoseconds since the start of the recording.
struct PageMark {
  Nanoseconds time = 0;
  std::string name;
};

struct Timeline {
  std::vector<Nanoseconds> edges;
  std::vector<estimation::Estimate> live;  ///< At the end of each bucket; may be empty.
  std::vector<std::pair<Nanoseconds, Bytes>> rss;
  std::vector<std::pair<Nanoseconds, Bytes>> mapped;  ///< By the program itself.
  std::vector<PageMark> marks;
  std::optional<Nanoseconds> peak;
};

struct SurvivalPoint {
  double time = 0, value = 0, lo = 0, hi = 0;
};
struct Survival {
  std::string name;
  std::uint64_t samples = 0;
  std::vector<SurvivalPoint> points;  ///< From time 0 to the longest watched.
};

struct AccountLine {
  std::string name;
  double bytes = 0;
  estimation::Interval interval;
  std::uint32_t depth = 0;
};

/// A site that was judged (report/leaks.h).
struct LeakSite {
  std::uint32_t node = 0;  ///< Where its stack ends.
  std::string verdict;     ///< "suspect", "undecided".
  estimation::Estimate live;
  std::uint64_t samples = 0;
  double never_freed = 0;  ///< Share of its allocations.
  estimation::Interval never_freed_limits;
  double rate = 0;  ///< Bytes per second.
  estimation::Interval rate_limits;
  Nanoseconds since = 0;  ///< After the start: what came before is warm-up.
  Nanoseconds oldest = 0, old_from = 0;
  double p = 1, q = 1;
  std::string open;        ///< Why it is undecided, as report::name_of; else empty.
  std::uint64_t kept = 0;  ///< Samples since then that are still live.
  /// Of a recording that began late: "at least 4.1 MiB" instead of the rate, or empty; and what was
  /// in use, which decides. Empty: all of it is recorded.
  std::string growth_limit, in_use;
};

struct Leaks {
  std::string finding;  ///< "suspects", "undecided", "clear".
  std::string why;      ///< Why that heap was judged: "end", "before_teardown".
  Nanoseconds after_start = 0, before_end = 0;
  std::optional<Nanoseconds> slow_frees_from;
  std::string missing;  ///< Why samples are missing; empty: none are known to be.
  std::string growing;  ///< "blocks of 2,064 bytes in use grew by 52 KiB ± 3 a second", or empty.
  /// Too much for an all-clear: at most so many bytes leaked at a site unnoticed.
  std::optional<double> may_have_leaked;
  estimation::Estimate live, live_at_end;
  std::vector<LeakSite> sites;
  std::uint64_t suspects = 0, undecided = 0, tested = 0, samples_needed = 0;
  double q = 0;  ///< Share of false suspects that was accepted.
};

/// Lines of a source file.
struct Source {
  NameIndex file = kNoName;
  std::uint32_t from = 1;
  std::vector<std::string> lines;
};

struct DiffRow {
  std::string name, detail;
  std::string short_name;  ///< Empty: the name itself.
  std::string place;       ///< "shop.cc:27"; empty: not known.
  estimation::Estimate before, after;
  double delta = 0;
  estimation::Interval interval;
  double q = 1;
  std::string verdict;
};

struct DiffTable {
  std::string by;
  std::vector<DiffRow> rows;
};

/// Of a subtree.
struct DiffNode {
  std::uint32_t node = 0;
  double before = 0, after = 0, delta = 0;
  estimation::Interval before_limits, after_limits;  ///< Rounded outwards.
  estimation::Interval interval;
  double q = 1;
  NameIndex verdict = kNoName;
};

struct Diff {
  std::vector<std::string> before, after;
  std::string kind;
  DiffRow total;
  std::vector<DiffTable> tables;
  std::vector<DiffNode> nodes;  ///< By node, ascending.
};

/// What the command line says about frames, which the reader may change.
struct Preset {
  bool all_frames = false;  ///< Plumbing too.
  std::string hide;         ///< Regular expression; empty: none.
  bool operator==(const Preset&) const = default;
};

struct PageData {
  std::string title;
  std::string version;
  double level = 0.95;
  std::vector<report::SummaryFact> facts;
  std::string fault;  ///< The first that guard mode saw, a sentence; empty: none.
  std::vector<std::string> warnings;
  std::vector<std::string> open;  ///< As of present::Scope.
  std::vector<std::string> names;
  std::vector<std::string> short_names;  ///< Parallel to names; empty: the same.
  Frames frames;
  Nodes nodes;
  std::vector<Cells> cells;
  NameIndex unknown_type = kNoName;  ///< In cells: may be any type.
  std::vector<MayBe> may_be;         ///< Of threads that changed their name.
  std::vector<PageProfile> profiles;
  std::string opening;  ///< The kind that the page opens on; empty: the first.
  std::optional<Timeline> timeline;
  std::vector<Survival> lifetimes;
  std::vector<AccountLine> resident;
  std::optional<Leaks> leaks;
  std::vector<Source> sources;
  std::vector<std::string> left_out;
  std::optional<Diff> diff;
  std::optional<Nanoseconds> refresh;
  Preset preset;
};

/// The document that the page reads. Strings are made valid UTF-8.
[[nodiscard]] std::string to_json(const PageData& data);

}  // namespace geiger::page
