#include "analysis/page/page_data.h"

#include <algorithm>
#include <array>
#include <boost/archive/iterators/base64_from_binary.hpp>
#include <boost/archive/iterators/transform_width.hpp>
#include <functional>
#include <iterator>
#include <span>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "analysis/export/streams/gzip.h"
#include "analysis/present/fields.h"
#include "analysis/present/json.h"
#include "analysis/present/measure.h"
#include "analysis/report/lives/leaks.h"
#include "analysis/report/overview/finding.h"

namespace geiger::page {

// The document that a page reads, described once: page_data.h is written by these lists, and
// tools/page_types.py makes web/src/data.ts of their schema.
//
// Counts and sums travel, never limits: the page adds up whatever the reader selects and derives
// value and interval from the sums (docs/internals/estimators.md), so a brush over the timeline is
// as sound as the whole. What a page has much of is packed by column: an object of arrays of equal
// length.

using estimation::Estimate;
using present::Fields;
using present::if_true;
using present::Of;

namespace {

/// What `get` returns of each item.
template <typename Items, typename Get>
auto transformed(const Items& items, const Get& get) {
  std::vector<std::decay_t<std::invoke_result_t<const Get&, decltype(*std::begin(items))>>> out;
  out.reserve(std::size(items));
  for (const auto& item : items) out.push_back(std::invoke(get, item));
  return out;
}

/// A column: what `get` returns of each of the items that `of` has.
template <typename Items, typename Get>
auto each(Items items, Get get) {
  return [=](const auto& of) { return transformed(std::invoke(items, of), get); };
}
/// A column that is empty without `has`, or left out.
template <typename Items, typename Get>
auto each_if(bool Cells::*has, Items items, Get get) {
  return [=](const Cells& of) {
    std::span all(std::invoke(items, of));
    return transformed(of.*has ? all : all.first(0), get);
  };
}

/// A text that is left out where it is empty.
template <typename T>
auto said(std::string T::*text) {
  return [=](const T& of) { return if_true(!(of.*text).empty(), of.*text); };
}
template <typename T, typename Item>
auto unless_empty(std::vector<Item> T::*items) {
  return [=](const T& of) { return if_true(!(of.*items).empty(), of.*items); };
}

template <typename Enum>
std::vector<std::string_view> names_in_reports() {
  return present::texts_of<Enum>([](Enum value) { return report::name_of(value); });
}

struct Limited {
  double value;
  estimation::Interval limits;
};
const Fields<Limited>& fields_of(Of<Limited> /*type*/) {
  static const auto kFields = Fields<Limited>("limited")
                                  .field("value", "", &Limited::value)
                                  .field("lo", "", [](const Limited& it) { return it.limits.lo; })
                                  .field("hi", "", [](const Limited& it) { return it.limits.hi; });
  return kFields;
}
template <typename T>
auto limited(double T::*value, estimation::Interval T::*limits) {
  return [=](const T& of) { return Limited{of.*value, of.*limits}; };
}

struct Fact {
  const report::SummaryFact& it;
};
const Fields<Fact>& fields_of(Of<Fact> /*type*/) {
  static const auto kFields =
      Fields<Fact>("fact")
          .field("name", "", [](const Fact& fact) { return fact.it.label; })
          .field("value", "", [](const Fact& fact) { return fact.it.value; })
          .field("remark", "what explains the value, less prominent",
                 [](const Fact& fact) { return if_true(!fact.it.remark.empty(), fact.it.remark); })
          .field("tone", "\"warning\" stands out",
                 [](const Fact& fact) { return fact.it.is_warning ? "warning" : "plain"; })
          .one_of({"plain", "warning"});
  return kFields;
}

struct StrataOf {
  const Cells& table;

  [[nodiscard]] const std::vector<Stratum>& strata() const { return table.strata; }
  /// Sizes are those of single objects, rounded to whole bytes.
  [[nodiscard]] bool has_smallest_sizes() const {
    return table.has_mean_sizes || !std::ranges::all_of(strata(), [](const Stratum& s) {
             return s.is_certain || s.smallest_size == std::max(s.bytes, 1.0);
           });
  }
};
template <typename Has, typename Get>
auto strata_if(Has has, Get get) {
  return [=](const StrataOf& of) {
    return if_true(std::invoke(has, of), transformed(of.strata(), get));
  };
}
const Fields<StrataOf>& fields_of(Of<StrataOf> /*type*/) {
  const auto of = [](auto get) { return each(&StrataOf::strata, get); };
  const auto if_mean = [](auto get) {
    return strata_if([](const StrataOf& it) { return it.table.has_mean_sizes; }, get);
  };
  static const auto kFields =
      Fields<StrataOf>("strata",
                       "Objects alike in what they add to sums, each an object's share, by column: "
                       "`count` objects add `count` times as much. Names of the sums as in "
                       "src/estimation/sums.h.")
          .field("certain", "1: recorded with probability 1, adds no error",
                 of([](const Stratum& s) { return s.is_certain ? 1U : 0U; }))
          .field("bytes", "z (or y, of kinds that sum a part of each object)", of(&Stratum::bytes))
          .field("weighted", "w = z / pi", of(&Stratum::weighted))
          .field("variance", "w (w - z)", of(&Stratum::variance))
          .field("objects", "1 / pi", of(&Stratum::objects))
          .field("objectsVariance", "(1 - pi) / pi^2", of(&Stratum::objects_variance))
          .field("interval",
                 "E_least of these alone, of objects that could be seen the interval between "
                 "samples; 0 of certain ones. A sum's is the least of its strata that are not "
                 "certain",
                 of(&Stratum::interval))
          .field("sizeClass", "power of two c: requested bytes are in [2^c, 2^(c+1)); -1: none",
                 of(&Stratum::size_class))
          .field("largestInterval", "E of these alone, of strata that are means; else `interval`",
                 if_mean(&Stratum::largest_interval))
          .field("largestObjectWeight", "c of these alone; else `objects`",
                 if_mean(&Stratum::largest_object_weight))
          .field("largestSize", "requested bytes, of strata that are means; else `bytes`",
                 if_mean(&Stratum::largest_size))
          .field("smallestSize", "requested bytes, at least 1; else `bytes`",
                 strata_if(&StrataOf::has_smallest_sizes, &Stratum::smallest_size))
          .field("open",
                 "1: their bytes are not known, but lie between none and `bytes`: they add to the "
                 "open sums, which only upper limits take; else none are",
                 strata_if([](const StrataOf& it) { return it.table.has_open; },
                           [](const Stratum& s) { return s.is_open ? 1U : 0U; }));
  return kFields;
}

using Points = std::vector<std::pair<Nanoseconds, Bytes>>;
struct Series {
  const Points& points;
};
const Fields<Series>& fields_of(Of<Series> /*type*/) {
  const auto of = [](auto get) {
    return each([](const Series& it) -> const Points& { return it.points; }, get);
  };
  static const auto kFields =
      Fields<Series>("series", "By column.")
          .field("time", "nanoseconds since the start", of(&Points::value_type::first))
          .field("bytes", "", of(&Points::value_type::second));
  return kFields;
}
auto series(Points Timeline::*points) {
  return [=](const Timeline& of) { return Series{of.*points}; };
}

struct LiveOver {
  const std::vector<Estimate>& live;
};
const Fields<LiveOver>& fields_of(Of<LiveOver> /*type*/) {
  const auto of = [](auto get) {
    return each(
        [](const LiveOver& it) -> const auto& { return it.live; }, get);
  };
  static const auto kFields =
      Fields<LiveOver>()
          .field("value", "", of(&Estimate::value))
          .field("lo", "", of([](const Estimate& e) { return e.interval.lo; }))
          .field("hi", "", of([](const Estimate& e) { return e.interval.hi; }));
  return kFields;
}

/// Most short names begin their name: those are written as how much of it they are. Pages count
/// in UTF-16, which for ASCII is the same.
using ShortName = std::variant<std::uint64_t, std::string_view>;
std::vector<ShortName> short_names_of(const PageData& data) {
  const auto is_ascii = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
  std::vector<ShortName> names;
  for (std::size_t i = 0; i < data.short_names.size(); ++i) {
    const std::string_view text = data.short_names[i];
    const bool is_start = data.names[i].starts_with(text) && std::ranges::all_of(text, is_ascii);
    names.push_back(is_start ? ShortName(text.size()) : ShortName(text));
  }
  return names;
}

std::vector<Fact> facts_of(const PageData& data) {
  std::vector<Fact> facts;
  for (const report::SummaryFact& fact : data.facts) facts.push_back({fact});
  return facts;
}

}  // namespace

// Of the types of page_data.h. They are found in its namespace.

static const auto& flags_of(Of<FrameFlag> /*type*/) {
  static constexpr std::array<present::Flag, 8> kFlags{{
      {"Inlined", "into the frame below it"},
      {"Plumbing", "of an allocator, a standard library or a language runtime: hidden on request"},
      {"Unknown", "has no symbol: module and offset stand for it"},
      {"Remark", "no frame but a remark: \"[truncated]\", \"[no stack]\", \"[smaller ones]\""},
      {"Own", "own code with a line: what a finding names before all else"},
      {"Dispatch",
       "of an interpreter: its loop, or a function that a script has called by way of it"},
      {"Cut",
       "a remark for frames that are missing: stacks with it passed through other functions too"},
      {"Runtime", "of one without a symbol: in the C or C++ runtime, whose own it is taken for"},
  }};
  return kFlags;
}

static const Fields<Frames>& fields_of(Of<Frames> /*type*/) {
  static const auto kFields =
      Fields<Frames>("frames", "Functions as they stand in stacks, by column.")
          .field("name", "", &Frames::name)
          .field("module", "", &Frames::module)
          .field("file", "", &Frames::file)
          .field("line", "0: not known", &Frames::line)
          .field("flags", "", each(&Frames::flags, [](std::uint8_t bits) {
                   return static_cast<FrameFlag>(bits);
                 }));
  return kFields;
}

static const Fields<Nodes>& fields_of(Of<Nodes> /*type*/) {
  static const auto kFields =
      Fields<Nodes>("nodes",
                    "The call tree, root first, by column. Node 0 is the root; a parent's index is "
                    "less than its child's.")
          .field("up", "how far before the node its parent stands; 0 for the root", &Nodes::up)
          .field("frame", "", &Nodes::frame);
  return kFields;
}

static const Fields<Cells>& fields_of(Of<Cells> /*type*/) {
  const auto of = [](auto get) { return each(&Cells::cells, get); };
  const auto of_if = [](bool Cells::*has, auto get) { return each_if(has, &Cells::cells, get); };
  static const auto kFields =
      Fields<Cells>("cells", "Samples by all that the page can tell apart, by column.")
          .field("strata", "", [](const Cells& it) { return StrataOf{it}; })
          .field("node", "leaf of the stack; never descending", of(&Cell::node))
          .field("stratum", "", of(&Cell::stratum))
          .field("count", "", of(&Cell::count))
          .field("process", "may be empty, as those that follow: then cells do not distinguish it",
                 of_if(&Cells::has_processes, &Cell::process))
          .field("thread", "", of_if(&Cells::has_threads, &Cell::thread))
          .field("type", "", of_if(&Cells::has_types, &Cell::type))
          .field("label", "", of_if(&Cells::has_labels, &Cell::label))
          .field("born", "bucket of the timeline it was allocated in; -1: before the first",
                 of_if(&Cells::has_times, &Cell::born))
          .field("died",
                 "bucket it was freed in, or its process ended in before the end of all; -1: alive "
                 "at the end",
                 of_if(&Cells::has_times, &Cell::died));
  return kFields;
}

static const Fields<PagePart>& fields_of(Of<PagePart> /*type*/) {
  static const auto kFields =
      Fields<PagePart>("found_part",
                       "A part of what a function holds: one of its own lines, or a function that "
                       "it calls.")
          .field("function", "", &PagePart::function)
          .field("isOwn", "", &PagePart::is_own)
          .field("place", "as of the function", &PagePart::place)
          .field("share", "of the whole", limited(&PagePart::share, &PagePart::limits));
  return kFields;
}

static const Fields<PageSite>& fields_of(Of<PageSite> /*type*/) {
  static const auto kFields =
      Fields<PageSite>("found_site", "A function that a finding names.")
          .field("node", "where the stack with most of its bytes ends", &PageSite::node)
          .field("function", "", &PageSite::function)
          .field("place", "\"leaky.cc:25 +2\", or \"\"", &PageSite::place)
          .field("process", "where several processes have samples: the one with most of it",
                 &PageSite::process)
          .field("share", "of the whole", limited(&PageSite::share, &PageSite::limits))
          .field("sites", "\"10 sites\": of an owner, its stacks", said(&PageSite::sites))
          .field("parts", "of a function with nearly everything", &PageSite::parts);
  return kFields;
}

static const Fields<PageFinding>& fields_of(Of<PageFinding> /*type*/) {
  static const auto kFields =
      Fields<PageFinding>("finding_data", "As the other reports open with it.")
          .field("verdict", "", &PageFinding::verdict)
          .one_of(names_in_reports<report::FindingVerdict>())
          .field("lives", "how soon most of what the first one allocated was freed; may be \"\"",
                 &PageFinding::lives)
          .field("sites", "", &PageFinding::sites);
  return kFields;
}

static std::string_view name_of(Counts counts) {
  static constexpr std::string_view kNames[]{"born", "alive", "all"};
  return present::name_among(kNames, counts);
}
static std::vector<std::string_view> names_of(Of<Counts> /*type*/) {
  return present::texts_of<Counts>([](Counts counts) { return name_of(counts); });
}

static const Fields<PageProfile>& fields_of(Of<PageProfile> /*type*/) {
  static const auto kFields =
      Fields<PageProfile>(
          "profile", "One kind of profile: \"allocated\", \"live\", \"peak\", \"resident\" ...")
          .field("kind", "", &PageProfile::kind)
          .field("title", "", &PageProfile::title)
          .field("about", "what it tells, in a sentence", &PageProfile::about)
          .field("unavailable", "why this recording does not have it; then `cells` is -1",
                 said(&PageProfile::unavailable))
          .field("cells", "index into the page's", &PageProfile::cells)
          .field("counts",
                 "what of the cells counts: those born in the window, those alive at its end, or "
                 "all whatever the window",
                 &PageProfile::counts)
          .field("largestInterval", "E: the largest interval that anything was drawn with",
                 &PageProfile::largest_interval)
          .field("objectInterval",
                 "E_o, where E has a ratio of bytes to sizes in it; else `largestInterval`",
                 [](const PageProfile& it) {
                   return if_true(it.object_interval < it.largest_interval, it.object_interval);
                 })
          .field("completeFrom",
                 "it has every object of at least so many bytes; else of no size is that certain",
                 &PageProfile::complete_from)
          .field("exactTotal",
                 "bytes known exactly, of the whole: parts with enough samples are calibrated to "
                 "it where `calibrates`",
                 &PageProfile::exact_total)
          .field("calibrates", "", &PageProfile::calibrates)
          .field("mostBytes",
                 "of live objects: bytes that were allocated, counted; a part has at most these",
                 &PageProfile::most_bytes)
          .field("bytes",
                 "the whole as the other reports print it: what the page must arrive at too, but "
                 "for the limits of the peak, which are not of its instant alone",
                 &PageProfile::bytes)
          .field("objects", "", &PageProfile::objects)
          .field("finding", "of the whole; not where the kind is unavailable",
                 [](const PageProfile& it) { return if_true(it.unavailable.empty(), it.finding); });
  return kFields;
}

static const Fields<std::vector<MayBe>>& fields_of(Of<std::vector<MayBe>> /*type*/) {
  const auto of = [](auto get) { return each(std::identity(), get); };
  static const auto kFields =
      Fields<std::vector<MayBe>>("may_be",
                                 "By column: samples of a thread of the first name were allocated "
                                 "under it or under the other one.")
          .field("thread", "", of(&MayBe::thread))
          .field("other", "", of(&MayBe::other));
  return kFields;
}

static const Fields<PageMark>& fields_of(Of<PageMark> /*type*/) {
  static const auto kFields = Fields<PageMark>("mark")
                                  .field("time", "nanoseconds since the start", &PageMark::time)
                                  .field("name", "", &PageMark::name);
  return kFields;
}

static const Fields<Timeline>& fields_of(Of<Timeline> /*type*/) {
  static const auto kFields =
      Fields<Timeline>("timeline",
                       "The heap over time. Bucket i covers edges[i] <= t < edges[i + 1].")
          .field("edges", "nanoseconds since the start", &Timeline::edges)
          .field("live",
                 "bytes at the end of each bucket, by column; empty where times of samples are not "
                 "known",
                 [](const Timeline& it) { return LiveOver{it.live}; })
          .field("rss", "resident set as observed; empty where it was not observed",
                 series(&Timeline::rss))
          .field("mapped", "memory that the program mapped itself, past its allocator; empty: none",
                 series(&Timeline::mapped))
          .field("marks", "", &Timeline::marks)
          .field("peak", "the instant that stands for it; not if the recording has no peak",
                 &Timeline::peak);
  return kFields;
}

static const Fields<Survival>& fields_of(Of<Survival> /*type*/) {
  const auto of = [](auto get) { return each(&Survival::points, get); };
  static const auto kFields =
      Fields<Survival>(
          "survival",
          "A survival curve, by column: what share of objects lives longer than `time` "
          "nanoseconds, from 0 to the longest time watched.")
          .field("name", "", &Survival::name)
          .field("samples", "", &Survival::samples)
          .field("time", "", of(&SurvivalPoint::time))
          .field("value", "", of(&SurvivalPoint::value))
          .field("lo", "", of(&SurvivalPoint::lo))
          .field("hi", "", of(&SurvivalPoint::hi));
  return kFields;
}

static const Fields<AccountLine>& fields_of(Of<AccountLine> /*type*/) {
  static const auto kFields =
      Fields<AccountLine>(
          "account_line",
          "A part of resident memory, or any other line of an account that adds up.")
          .field("name", "", &AccountLine::name)
          .field("bytes", "", &AccountLine::bytes)
          .field("lo", "", [](const AccountLine& it) { return it.interval.lo; })
          .field("hi", "", [](const AccountLine& it) { return it.interval.hi; })
          .field("depth", "below the lines above it", &AccountLine::depth);
  return kFields;
}

static const Fields<LeakSite>& fields_of(Of<LeakSite> /*type*/) {
  static const auto kFields =
      Fields<LeakSite>("leak_site", "A site that was judged, as `geiger leaks` judges it.")
          .field("node", "where its stack ends; the function of an owner", &LeakSite::node)
          .field("verdict", "", &LeakSite::verdict)
          .one_of(names_in_reports<profile::LeakVerdict>())
          .field("live", "", &LeakSite::live)
          .field("samples", "", &LeakSite::samples)
          .field("neverFreed", "share of what it allocated",
                 limited(&LeakSite::never_freed, &LeakSite::never_freed_limits))
          .field("rate", "bytes per second", limited(&LeakSite::rate, &LeakSite::rate_limits))
          .field("since", "nanoseconds since the start: what came before is warm-up",
                 &LeakSite::since)
          .field("oldest", "age of its oldest object since then; 0: not known", &LeakSite::oldest)
          .field("oldFrom", "age from which its objects count as old; 0: not known",
                 &LeakSite::old_from)
          .field("p", "", &LeakSite::p)
          .field("q", "", &LeakSite::q)
          .field("open", "why it is undecided; \"\" of a suspect", &LeakSite::open)
          .field("kept", "samples since then that are still live", &LeakSite::kept)
          .field("growthLimit",
                 "\"at least 4.1 MiB\", of a recording that began late: instead of the rate",
                 said(&LeakSite::growth_limit))
          .field("inUse", "of a recording that began late: how many of its blocks were in use",
                 said(&LeakSite::in_use))
          .field("held", "\"738 MiB ± 12 in 1.2 M ± 0.1 M objects\"", &LeakSite::held)
          .field("sites", "\"10 sites\": of an owner, those that it explains",
                 said(&LeakSite::sites))
          .field("holders", "\"93 % ± 3 held by g_sessions\": the largest, if they were looked for",
                 unless_empty(&LeakSite::holders))
          .field("owner", "index into the owners: it is one of its sites that grow",
                 &LeakSite::owner);
  return kFields;
}

static const Fields<Leaks>& fields_of(Of<Leaks> /*type*/) {
  static const auto kFields =
      Fields<Leaks>("leaks")
          .field("finding", "", &Leaks::finding)
          .one_of(names_in_reports<report::LeakFinding>())
          .field("why", "why that heap was judged", &Leaks::why)
          .one_of(names_in_reports<report::JudgedInstant::Why>())
          .field("afterStart", "nanoseconds: when it was judged", &Leaks::after_start)
          .field("beforeEnd", "nanoseconds: how long the program went on", &Leaks::before_end)
          .field("slowFreesFrom",
                 "nanoseconds since the start, from when on most was freed, too long to be tidying "
                 "up",
                 &Leaks::slow_frees_from)
          .field("missing", "why samples are missing: \"3 samples were dropped\"",
                 said(&Leaks::missing))
          .field("growing",
                 "\"blocks of 2,064 bytes in use grew by 52 KiB ± 3 a second\", and no suspect "
                 "explains it",
                 said(&Leaks::growing))
          .field(
              "mayHaveLeaked",
              "too much for an all-clear: a leak of at most so many bytes could have been missed",
              &Leaks::may_have_leaked)
          .field("live", "", &Leaks::live)
          .field("liveAtEnd", "", &Leaks::live_at_end)
          .field("counts", "\"1 of 9 sites suspect, 2 undecided\"", &Leaks::counts)
          .field("suspects", "", &Leaks::suspects)
          .field("undecided", "", &Leaks::undecided)
          .field("tested",
                 "sites that could be suspects, those that hold nothing any more included",
                 &Leaks::tested)
          .field("samplesNeeded", "", &Leaks::samples_needed)
          .field("q", "share of false suspects that was accepted", &Leaks::q)
          .field("owners", "in place of several sites, with all that is below them", &Leaks::owners)
          .field("unreachable", "sentences on sites with unreachable memory, whatever they grow by",
                 unless_empty(&Leaks::unreachable))
          .field("stopped", "sentences on large sites that stopped growing", &Leaks::stopped)
          .field("sites",
                 "suspects, the fastest first, then undecided ones; no more than the page has room "
                 "for",
                 &Leaks::sites);
  return kFields;
}

static const Fields<Source>& fields_of(Of<Source> /*type*/) {
  static const auto kFields =
      Fields<Source>("source", "Lines of a source file, embedded only on request.")
          .field("file", "", &Source::file)
          .field("from", "number of the first line", &Source::from)
          .field("lines", "", &Source::lines);
  return kFields;
}

static const Fields<DiffRow>& fields_of(Of<DiffRow> /*type*/) {
  static const auto kFields =
      Fields<DiffRow>("diff_row")
          .field("name", "", &DiffRow::name)
          .field("detail", "", &DiffRow::detail)
          .field("shortName", "where it differs from the name", said(&DiffRow::short_name))
          .field("place", "\"shop.cc:27\", where it is known", said(&DiffRow::place))
          .field("before", "", &DiffRow::before)
          .field("after", "", &DiffRow::after)
          .field("delta", "", limited(&DiffRow::delta, &DiffRow::interval))
          .field("q", "after control of the false-discovery rate", &DiffRow::q)
          .field("verdict",
                 "\"grew\", \"shrank\", \"new\", \"gone\", \"noise\", \"too few samples\"",
                 &DiffRow::verdict);
  return kFields;
}

static const Fields<DiffTable>& fields_of(Of<DiffTable> /*type*/) {
  static const auto kFields =
      Fields<DiffTable>().field("by", "", &DiffTable::by).field("rows", "", &DiffTable::rows);
  return kFields;
}

static const Fields<std::vector<DiffNode>>& fields_of(Of<std::vector<DiffNode>> /*type*/) {
  const auto of = [](auto get) { return each(std::identity(), get); };
  const auto lo = [](estimation::Interval DiffNode::*limits) {
    return each(std::identity(), [=](const DiffNode& node) { return (node.*limits).lo; });
  };
  const auto hi = [](estimation::Interval DiffNode::*limits) {
    return each(std::identity(), [=](const DiffNode& node) { return (node.*limits).hi; });
  };
  static const auto kFields =
      Fields<std::vector<DiffNode>>("", "By column.")
          .field("node", "", of(&DiffNode::node))
          .field("before", "", of(&DiffNode::before))
          .field("after", "", of(&DiffNode::after))
          .field("delta", "", of(&DiffNode::delta))
          .field("beforeLo", "rounded outwards to four digits, as the other three",
                 lo(&DiffNode::before_limits))
          .field("beforeHi", "", hi(&DiffNode::before_limits))
          .field("afterLo", "", lo(&DiffNode::after_limits))
          .field("afterHi", "", hi(&DiffNode::after_limits))
          .field("lo", "", lo(&DiffNode::interval))
          .field("hi", "", hi(&DiffNode::interval))
          .field("q", "", of(&DiffNode::q))
          .field("verdict", "", of(&DiffNode::verdict));
  return kFields;
}

static const Fields<Diff>& fields_of(Of<Diff> /*type*/) {
  static const auto kFields =
      Fields<Diff>("diff", "Of pages of `geiger report --diff`.")
          .field("before", "", &Diff::before)
          .field("after", "", &Diff::after)
          .field("kind", "", &Diff::kind)
          .field("total", "estimated from samples", &Diff::total)
          .field("counted", "the total as it was counted", &Diff::counted)
          .field("tables", "", &Diff::tables)
          .field("nodes", "by node of the page's; those without bytes are absent", &Diff::nodes);
  return kFields;
}

static const Fields<Preset>& fields_of(Of<Preset> /*type*/) {
  static const auto kFields =
      Fields<Preset>("preset",
                     "Frames that the command line left out or in; the reader may change both.")
          .field("all_frames", "of libraries too", &Preset::all_frames)
          .field("hide", "regular expression, or \"\"", &Preset::hide);
  return kFields;
}

static const Fields<PageData>& fields_of(Of<PageData> /*type*/) {
  constexpr int kVersion = 1;
  static const auto kFields =
      Fields<PageData>("page_data",
                       "What `geiger report` embeds in a page and `geiger serve` sends. Where a "
                       "name is an integer it is an index into `names`, -1 where there is none.")
          .field("schema", "", [](const PageData&) { return kVersion; })
          .field("title", "", &PageData::title)
          .field("version", "geiger's", &PageData::version)
          .field("level", "of all intervals, in (0, 1)", &PageData::level)
          .field("facts",
                 "the header card, in order: what ran, interval, samples, exact and estimated, "
                 "drops, detection limit",
                 &facts_of)
          .field("fault", "the first wrong use of memory that guard mode saw, a sentence",
                 said(&PageData::fault))
          .field("warnings", "", &PageData::warnings)
          .field("open", "what the filters of the command line cannot tell of, in words",
                 unless_empty(&PageData::open))
          .field("names", "", &PageData::names)
          .field("short_names",
                 "for people, parallel to `names`; a number: so many characters of the name; \"\" "
                 "or 0: all of it",
                 &short_names_of)
          .field("frames", "", &PageData::frames)
          .field("nodes", "", &PageData::nodes)
          .field("cells", "", &PageData::cells)
          .field("unknownType", "in cells: of objects that may be of any type",
                 &PageData::unknown_type)
          .field("mayBe", "not where no thread changed its name", unless_empty(&PageData::may_be))
          .field("profiles", "empty in pages that only compare", &PageData::profiles)
          .field("columns", "of figures, in tables by function, line or module", &PageData::columns)
          .field("columnsWithoutTotals", "in other tables", &PageData::columns_without_totals)
          .field("opening", "the kind that is shown first", &PageData::opening)
          .field("timeline", "", &PageData::timeline)
          .field("lifetimes", "", &PageData::lifetimes)
          .field("resident", "what resident memory consists of", &PageData::resident)
          .field("leaks", "not where they cannot be judged", &PageData::leaks)
          .field("holders", "as `geiger holders` has them, if they were stored", &PageData::holders)
          .field("advice", "as `geiger advise` has it, of whole recordings", &PageData::advice)
          .field("sources", "", &PageData::sources)
          .field("left_out", "what was left out to bound the page, in words; empty: nothing",
                 &PageData::left_out)
          .field("diff", "", &PageData::diff)
          .field("refresh", "set by `geiger serve`: nanoseconds until the page asks again",
                 &PageData::refresh)
          .field("preset", "else the page begins as by default",
                 [](const PageData& it) { return if_true(it.preset != Preset{}, it.preset); });
  return kFields;
}

std::string to_json(const PageData& data) {
  present::JsonWriter json;
  present::write_value(json, data);
  return json.take();
}

std::string schema() { return present::schema_of_value<PageData>(); }

namespace {

/// The end of the element's start tag, and its end tag.
constexpr std::string_view kPlace = "id=\"data\"></script>";
constexpr std::size_t kBehindTag = std::string_view("id=\"data\">").size();

std::string compressed(std::string_view text) {
  std::string out;
  exports::GzipStream stream([&](std::string_view bytes) { out += bytes; },
                             exports::Effort::kSmall);
  stream.write(text);
  stream.finish();
  return out;
}

std::string in_base64(std::string bytes) {
  using boost::archive::iterators::base64_from_binary;
  using boost::archive::iterators::transform_width;
  using Encoded = base64_from_binary<transform_width<std::string::const_iterator, 6, 8>>;
  const std::size_t padding = (3 - bytes.size() % 3) % 3;
  bytes.append(padding, '\0');
  std::string out(Encoded(bytes.cbegin()), Encoded(bytes.cend()));
  out.replace(out.size() - padding, padding, padding, '=');
  return out;
}

}  // namespace

std::optional<std::string> with_data(std::string_view html, std::string_view document) {
  const std::size_t place = html.find(kPlace);
  if (place == std::string_view::npos || html.find(kPlace, place + 1) != std::string_view::npos) {
    return std::nullopt;
  }
  const std::size_t split = place + kBehindTag;
  std::string out(html.substr(0, split));
  out += in_base64(compressed(document));
  out += html.substr(split);
  return out;
}

}  // namespace geiger::page
