#include "analysis/present/function_names.h"
#include "analysis/present/measure.h"
#include "analysis/present/stack_json.h"
#include "analysis/report/lives/leaks.h"
#include "analysis/report/lives/lifetimes.h"

namespace geiger::present {

using profile::LateGrowth;
using profile::LeakGrowth;

static const Fields<LeakGrowth>& fields_of(Of<LeakGrowth> /*type*/) {
  static const auto kFields =
      Fields<LeakGrowth>("growth", "Bytes since the warm-up.")
          .field("bytes", "", &LeakGrowth::bytes)
          .field("lo", "null where it is not known",
                 [](const LeakGrowth& it) { return it.interval.lo; })
          .or_null()
          .field("hi", "", [](const LeakGrowth& it) { return it.interval.hi; })
          .field("p_value", "", &LeakGrowth::p_value)
          .or_null()
          .field("is_lasting", "not slowing down", &LeakGrowth::is_lasting);
  return kFields;
}

static const Fields<LateGrowth>& fields_of(Of<LateGrowth> /*type*/) {
  static const auto kFields =
      Fields<LateGrowth>()
          .field("by",
                 "what bounds it: the memory at the start, the chunks of its sizes in use, or what "
                 "its "
                 "process inherited by fork",
                 [](const LateGrowth& it) { return report::name_of(it.by); })
          .one_of({"nothing", "memory", "chunks"})
          .field("at_least", "bytes that it grew by at least", &LateGrowth::at_least)
          .or_null()
          .field("seconds", "that it grew in", &LateGrowth::seconds)
          .field("in_use_from",
                 "bytes at the start of that time; `memory`: of the recording; `inherited`: at the "
                 "fork, at most",
                 &LateGrowth::in_use_from)
          .field("in_use_to", "bytes at its end; `memory`: 0", &LateGrowth::in_use_to)
          .field("chunk_bytes", "0: of several sizes", &LateGrowth::chunk)
          .field("growing_chunk_bytes", "a size of it that grows; 0: none", &LateGrowth::growing)
          .field("decided_after_seconds",
                 "of recording, which find a leak of a tenth of what it kept in four of five cases",
                 &LateGrowth::decided_after);
  return kFields;
}

}  // namespace geiger::present

namespace geiger::report {

using present::Fields;
using present::InRecording;
using present::Of;
using profile::GrowingChunks;
using profile::LateGrowth;
using profile::LeakSite;

std::string_view name_of(profile::LeakVerdict verdict) {
  constexpr std::string_view kNames[] = {"suspect", "undecided", "clear"};
  return present::name_among(kNames, verdict);
}

std::string_view name_of(profile::Open open) {
  constexpr std::string_view kNames[] = {"",         "samples", "slowing",   "alone",
                                         "turnover", "chunks",  "unmeasured"};
  return present::name_among(kNames, open);
}

std::string_view name_of(LateGrowth::By by) {
  constexpr std::string_view kNames[] = {"nothing", "memory", "chunks", "inherited"};
  return present::name_among(kNames, by);
}

std::string_view name_of(LeakFinding finding) {
  constexpr std::string_view kNames[] = {"suspects", "undecided", "clear"};
  return present::name_among(kNames, finding);
}

std::string_view name_of(JudgedInstant::Why why) {
  constexpr std::string_view kNames[] = {"end", "before_teardown", "given"};
  return present::name_among(kNames, why);
}

namespace {

template <typename Enum>
std::vector<std::string_view> names() {
  return present::texts_of<Enum>([](Enum value) { return name_of(value); });
}

/// A site with what its fields need of the others.
struct SiteRow {
  const LeakLine& it;
  const LeaksReport& report;
  const profile::Recording& recording;
};

std::vector<SiteRow> leak_sites_of(const InRecording<LeaksReport>& of) {
  std::vector<SiteRow> rows;
  for (const LeakLine& line : of.it.lines) rows.push_back({line, of.it, of.recording});
  return rows;
}

const Fields<SiteRow>& fields_of(Of<SiteRow> /*type*/) {
  const auto of = [](auto LeakSite::*member) {
    return [member](const LeakLine& it) { return it.site.*member; };
  };
  static const auto kFields =
      Fields<SiteRow>("leak_site")
          .inlined([](const SiteRow& row) {
            const profile::GroupBy by = present::named_like(row.report.options.search.by);
            return present::Named{row.it.site.group.name, present::is_named_by_functions(by)};
          })
          .field("detail", "as rows of `table` have it",
                 [](const LeakLine& it) { return it.site.group.detail; })
          .inlined([](const LeakLine& it) { return it.site.group.where; })
          .field("verdict", "", [](const LeakLine& it) { return name_of(it.site.verdict); })
          .one_of(names<profile::LeakVerdict>())
          .field("live", "at the judged instant", &LeakLine::live)
          .field("never_freed", "of what it allocated", &LeakLine::never_freed)
          .field("growth", "of all that is live", of(&LeakSite::all))
          .field("growth_of_old", "of what is older than `old_from_ns`", of(&LeakSite::old))
          .field("bytes_per_second", "",
                 [](const LeakLine& it) {
                   return present::Share{it.rate.value, it.rate.interval};
                 })
          .field("where", "file:line of the named function",
                 [](const LeakLine& it) { return present::if_true(!it.where.empty(), it.where); })
          .field("since_ns", "end of the warm-up, after the start", &LeakLine::since)
          .field("seconds", "after the warm-up", of(&LeakSite::seconds))
          .field("oldest_ns", "age of the oldest live object since the warm-up",
                 of(&LeakSite::oldest))
          .field("old_from_ns", "0: that of the size class, or unknown", of(&LeakSite::old_from))
          .field("samples_since_warm_up", "", of(&LeakSite::since))
          .field("samples_kept", "of these, alive at the judged instant", of(&LeakSite::kept))
          .field("is_tested", "it has samples enough for any verdict", of(&LeakSite::is_tested))
          .field("late", "with objects from before the recording, whose frees are not seen",
                 of(&LeakSite::late))
          .field("open", "of undecided ones: what a verdict is missing",
                 [](const LeakLine& it) {
                   return present::if_true(it.site.open != profile::Open::kNothing,
                                           name_of(it.site.open));
                 })
          .one_of(names<profile::Open>())
          .field("p_value", "", of(&LeakSite::p_value))
          .or_null()
          .field("q_value", "adjusted for all sites tested", of(&LeakSite::q_value))
          .or_null()
          .inlined([](const SiteRow& row) {
            return present::stack_of(row.recording, row.it.site.group.stack);
          });
  return kFields;
}

struct ChunksOf {
  const GrowingChunks& it;
  std::uint32_t pid;
};

const Fields<ChunksOf>& fields_of(Of<ChunksOf> /*type*/) {
  static const auto kFields =
      Fields<ChunksOf>()
          .field("pid", "", &ChunksOf::pid)
          .field("chunk_bytes", "the size of one", &GrowingChunks::chunk)
          .field("bytes", "that they grew by", &GrowingChunks::bytes)
          .field("lo", "by the program's scatter",
                 [](const GrowingChunks& it) { return it.interval.lo; })
          .field("hi", "", [](const GrowingChunks& it) { return it.interval.hi; })
          .field("seconds", "", &GrowingChunks::seconds)
          .field("p_value", "", &GrowingChunks::p_value)
          .field("q_value", "", &GrowingChunks::q_value);
  return kFields;
}

std::vector<ChunksOf> growing_in(const InRecording<LeaksReport>& of) {
  std::vector<ChunksOf> all;
  for (const GrowingChunks& chunks : of.it.growing) {
    all.push_back({chunks, of.recording.processes[chunks.process].pid});
  }
  return all;
}

struct JudgedOf {
  const JudgedInstant& it;
  const LeaksOptions& options;
};

const Fields<JudgedOf>& fields_of(Of<JudgedOf> /*type*/) {
  static const auto kFields =
      Fields<JudgedOf>()
          .field("why", "", [](const JudgedInstant& it) { return name_of(it.why); })
          .one_of(names<JudgedInstant::Why>())
          .field("after_start_ns", "in the process with the largest heap then",
                 &JudgedInstant::after_start)
          .field("before_end_ns", "of that process", &JudgedInstant::before_end)
          .field("processes", "judged before their final frees", &JudgedInstant::processes)
          .field("until", "as asked",
                 [](const JudgedOf& it) {
                   const auto& until = it.options.until;
                   return until ? std::optional(until->text) : std::nullopt;
                 })
          .field("freed_from_ns",
                 "from then on most of the heap was freed, before the judged instant",
                 &JudgedInstant::freed_from);
  return kFields;
}

}  // namespace

static const Fields<SuppressedLine>& fields_of(Of<SuppressedLine> /*type*/) {
  static const auto kFields = Fields<SuppressedLine>("suppressed")
                                  .field("pattern", "", &SuppressedLine::pattern)
                                  .inlined(&SuppressedLine::live);
  return kFields;
}

const Fields<InRecording<LeaksReport>>& fields_of(Of<InRecording<LeaksReport>> /*type*/) {
  using Document = InRecording<LeaksReport>;
  const auto of = [](auto profile::LeakOptions::*member) {
    return [member](const LeaksReport& it) { return it.options.search.*member; };
  };
  static const auto kFields =
      Fields<Document>("leaks")
          .field("level", "confidence level of all intervals", of(&profile::LeakOptions::level))
          .field("q", "accepted share of false suspects", of(&profile::LeakOptions::q))
          .field("warm_up", "share of the time not judged", of(&profile::LeakOptions::warm_up))
          .field("by", "what a site is",
                 [](const LeaksReport& it) { return name_of(it.options.search.by); })
          .one_of({"function", "stack"})
          .inlined([](const LeaksReport& it) { return it.options.scope; })
          .field("suspects", "sites with something live", &LeaksReport::suspects)
          .field("undecided", "sites with something live", &LeaksReport::undecided)
          .field("clear", "sites with something live", &LeaksReport::clear)
          .field("tested",
                 "sites with samples enough for any verdict, those that freed everything included: "
                 "`q_value` is adjusted over them",
                 &LeaksReport::tested)
          .field("may_grow",
                 "the largest upper limit of what a clear site leaked, in bytes a second",
                 &LeaksReport::may_grow)
          .field("may_have_leaked",
                 "at most so many bytes did a clear site leak since the warm-up, or does one "
                 "without samples hold",
                 &LeaksReport::may_have_leaked)
          .field("can_be_clear",
                 "`may_have_leaked` is at most half of what is live: else `finding` is not `clear`",
                 &LeaksReport::can_be_clear)
          .field("samples_needed", "samples from which on a site is tested",
                 &LeaksReport::samples_needed)
          .field("finding", "`undecided`: no suspects, but a leak may be hidden",
                 [](const LeaksReport& it) { return name_of(it.finding()); })
          .one_of(names<LeakFinding>())
          .field("missing", "why samples are missing, among which a leak may be",
                 [](const LeaksReport& it) {
                   return present::if_true(!it.missing.empty(), it.missing);
                 })
          .field("judged", "which heap; times are since the start of the recording",
                 [](const LeaksReport& it) {
                   return JudgedOf{it.judged, it.options};
                 })
          .field("live", "all that is searched, at the judged instant", &LeaksReport::live)
          .field("live_at_end", "the same at the end", &LeaksReport::live_at_end)
          .field("sites", "suspects and undecided, with `--all` every site, by verdict and growth",
                 &leak_sites_of)
          .field("small_sites", "sites of too few samples as one, if they grow together",
                 [](const Document& it) -> std::optional<SiteRow> {
                   if (!it.it.small) return std::nullopt;
                   return SiteRow{*it.it.small, it.it, it.recording};
                 })
          .field("growing_chunks",
                 "of processes recorded late: chunks in use that grow and belong to no suspect",
                 &growing_in)
          .field("walk_fault", "why chunks in use could not be counted, the last time",
                 [](const LeaksReport& it) {
                   return present::if_true(!it.walk_fault.empty(), it.walk_fault);
                 })
          .field("suppressed", "suppressions that matched, with what is live of them",
                 &LeaksReport::suppressed);
  return kFields;
}

std::string to_json(const LeaksReport& report, const profile::Recording& recording) {
  return present::document("leaks", report, recording);
}

}  // namespace geiger::report
