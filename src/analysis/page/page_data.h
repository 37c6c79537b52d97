// What a report page is made of, as web/src/data.ts states it; as JSON, and as one file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/present/grid.h"
#include "analysis/profile/recording/recording.h"
#include "analysis/report/advice/advice.h"
#include "analysis/report/holders/holders.h"
#include "analysis/report/overview/summary.h"
#include "estimation/estimate.h"

namespace geiger::page {

// What a report page is made of; page_data.cc says what each field means, and writes them as the
// JSON that the page reads. Pure data; the other files of this room fill it.

/// Index into PageData::names; kNoName where there is none.
using NameIndex = std::int32_t;
inline constexpr NameIndex kNoName = -1;

enum FrameFlag : std::uint8_t {
  kInlined = 1,
  kPlumbing = 2,
  kUnknown = 4,
  kRemark = 8,
  kOwn = 16,
  kDispatch = 32,
  kCut = 64,
  kRuntime = 128
};

struct Frames {
  std::vector<NameIndex> name, module, file;
  std::vector<std::uint32_t> line;
  std::vector<std::uint8_t> flags;
};

struct Nodes {
  std::vector<std::uint32_t> up;
  std::vector<std::uint32_t> frame;
};

/// What one object of a stratum adds to sums (estimation/sums.h).
struct Stratum {
  bool is_certain = false;
  bool is_open = false;  ///< In SampleSums open, with the columns below.
  double bytes = 0, weighted = 0, variance = 0;
  double objects = 0, objects_variance = 0;
  double interval = 0;
  double largest_interval = 0;
  double largest_object_weight = 0;
  double smallest_size = 0;
  double largest_size = 0;
  std::int32_t size_class = -1;
};

/// Born before the first bucket; alive at the end.
inline constexpr std::int32_t kBornBefore = -1, kAliveAtEnd = -1;

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
  std::vector<Cell> cells;
  bool has_processes = false, has_threads = false, has_types = false, has_labels = false;
  bool has_times = false;
  bool has_open = false;        ///< Some stratum is.
  bool has_mean_sizes = false;  ///< Near sizes share strata of their mean, to bound the page.
};

enum class Counts : std::uint8_t { kBorn, kAlive, kAll };

struct PagePart {
  NameIndex function = kNoName;
  bool is_own = false;
  std::string place;
  double share = 0;
  estimation::Interval limits;
};

struct PageSite {
  std::uint32_t node = 0;
  NameIndex function = kNoName;
  std::string place;
  std::string process;
  double share = 0;
  estimation::Interval limits;
  std::string sites;
  std::vector<PagePart> parts;
};

struct PageFinding {
  std::string verdict;
  std::string lives;
  std::vector<PageSite> sites;
};

struct PageProfile {
  std::string kind, title, about;
  std::string unavailable;
  std::int32_t cells = -1;
  Counts counts = Counts::kAll;
  double largest_interval = 0;
  double object_interval = 0;
  std::optional<double> complete_from;
  std::optional<Bytes> exact_total;
  bool calibrates = false;
  std::optional<Bytes> most_bytes;
  estimation::Estimate bytes, objects;
  PageFinding finding;
};

struct MayBe {
  NameIndex thread = kNoName, other = kNoName;
};

struct PageMark {
  Nanoseconds time = 0;
  std::string name;
};

struct Timeline {
  std::vector<Nanoseconds> edges;
  std::vector<estimation::Estimate> live;
  std::vector<std::pair<Nanoseconds, Bytes>> rss;
  std::vector<std::pair<Nanoseconds, Bytes>> mapped;
  std::vector<PageMark> marks;
  std::optional<Nanoseconds> peak;
};

struct SurvivalPoint {
  double time = 0, value = 0, lo = 0, hi = 0;
};
struct Survival {
  std::string name;
  std::uint64_t samples = 0;
  std::vector<SurvivalPoint> points;
};

struct AccountLine {
  std::string name;
  double bytes = 0;
  estimation::Interval interval;
  std::uint32_t depth = 0;
};

/// A site that was judged (report/lives/leaks.h).
struct LeakSite {
  std::uint32_t node = 0;
  std::string verdict;
  estimation::Estimate live;
  std::uint64_t samples = 0;
  double never_freed = 0;
  estimation::Interval never_freed_limits;
  double rate = 0;
  estimation::Interval rate_limits;
  Nanoseconds since = 0;
  Nanoseconds oldest = 0, old_from = 0;
  double p = 1, q = 1;
  std::string open;  ///< Why it is undecided, as report::name_of; else empty.
  std::uint64_t kept = 0;
  std::string growth_limit, in_use;
  std::string held;   ///< "738 MiB ± 12 in 1.2 M ± 0.1 M objects".
  std::string sites;  ///< Of an owner: "10 sites", those that it explains; empty of a site.
  std::vector<std::string> holders;    ///< As report::holders_texts.
  std::optional<std::uint32_t> owner;  ///< Of a site: the index of what explains it.
};

struct Leaks {
  std::string finding;
  std::string why;
  Nanoseconds after_start = 0, before_end = 0;
  std::optional<Nanoseconds> slow_frees_from;
  std::string missing;  ///< Why samples are missing; empty: none are known to be.
  std::string growing;  ///< "blocks of 2,064 bytes in use grew by 52 KiB ± 3 a second", or empty.
  std::optional<double> may_have_leaked;
  estimation::Estimate live, live_at_end;
  std::vector<LeakSite> owners, sites;
  std::string counts;                    ///< "1 of 9 sites suspect, 2 undecided".
  std::vector<std::string> unreachable;  ///< Sentences on sites with unreachable memory.
  std::vector<std::string> stopped;      ///< Sentences on large sites that stopped growing.
  std::uint64_t suspects = 0, undecided = 0, tested = 0, samples_needed = 0;
  double q = 0;
};

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

struct DiffNode {
  std::uint32_t node = 0;
  double before = 0, after = 0, delta = 0;
  estimation::Interval before_limits, after_limits;
  estimation::Interval interval;
  double q = 1;
  NameIndex verdict = kNoName;
};

struct Diff {
  std::vector<std::string> before, after;
  std::string kind;
  DiffRow total;
  std::optional<DiffRow> counted;
  std::vector<DiffTable> tables;
  std::vector<DiffNode> nodes;
};

struct Preset {
  bool all_frames = false;
  std::string hide;
  bool operator==(const Preset&) const = default;
};

struct PageData {
  std::string title;
  std::string version;
  double level = 0.95;
  std::vector<report::SummaryFact> facts;
  std::string fault;
  std::vector<std::string> warnings;
  std::vector<std::string> open;
  std::vector<std::string> names;
  std::vector<std::string> short_names;  ///< Parallel to names; empty: the same.
  Frames frames;
  Nodes nodes;
  std::vector<Cells> cells;
  NameIndex unknown_type = kNoName;
  std::vector<MayBe> may_be;
  std::vector<PageProfile> profiles;
  /// Of tables with totals and without, as `geiger table` has them.
  std::vector<present::ColumnWords> columns, columns_without_totals;
  std::string opening;
  std::optional<Timeline> timeline;
  std::vector<Survival> lifetimes;
  std::vector<AccountLine> resident;
  std::optional<Leaks> leaks;
  std::optional<report::HoldersReport> holders;
  std::optional<report::AdviceReport> advice;
  std::vector<Source> sources;
  std::vector<std::string> left_out;
  std::optional<Diff> diff;
  std::optional<Nanoseconds> refresh;
  Preset preset;
};

/// The document that the page reads. Strings are made valid UTF-8.
[[nodiscard]] std::string to_json(const PageData& data);
/// Its schema, with the meaning of every field.
[[nodiscard]] std::string schema();

// One file that shows a page: the template that web/ builds, with the data in it.

/// `html` with `document` (page.h) in the script element that waits for it: compressed and in
/// base64, so that no name can end the element. Nothing if `html` has no such element, or
/// several.
[[nodiscard]] std::optional<std::string> with_data(std::string_view html,
                                                   std::string_view document);

}  // namespace geiger::page
