#include <algorithm>
#include <array>

#include "analysis/present/measure.h"
#include "analysis/report/overview/rss.h"

namespace geiger::report {
namespace {

using present::Fields;
using present::InRecording;
using present::Of;
using profile::HeapPart;

/// A row of an account with or without shares.
struct AccountRow {
  const RssRow& row;
  bool has_share;
};

const Fields<AccountRow>& fields_of(Of<AccountRow> /*type*/) {
  static const auto kFields =
      Fields<AccountRow>("rss_row", "A part of resident memory.")
          .field("part", "", [](const AccountRow& it) { return key_of(it.row.part); })
          .one_of(present::texts_of<RssPart>([](RssPart part) { return key_of(part); }))
          .field("resident", "", [](const AccountRow& it) { return it.row.bytes; })
          .field("share", "of RSS, where shares mean something",
                 [](const AccountRow& it) { return present::if_true(it.has_share, it.row.share); });
  return kFields;
}

struct CensusPart {
  HeapPart part;
  profile::MapTotals totals;
};

const Fields<CensusPart>& fields_of(Of<CensusPart> /*type*/) {
  static const auto kFields =
      Fields<CensusPart>("census_part")
          .field("part", "", [](const CensusPart& it) { return key_of(it.part); })
          .one_of(present::texts_of<HeapPart>([](HeapPart part) {
            return static_cast<std::size_t>(part) < profile::kHeapParts ? key_of(part) : "";
          }))
          .field("bytes", "", [](const CensusPart& it) { return it.totals.size; })
          .field("resident_bytes", "", [](const CensusPart& it) { return it.totals.resident; });
  return kFields;
}

struct CensusOf {
  const profile::HeapCensus& census;
};

const Fields<CensusOf>& fields_of(Of<CensusOf> /*type*/) {
  static const auto kFields =
      Fields<CensusOf>("heap_census", "geiger's own allocator, counted exactly.")
          .field("mapped_bytes", "what the sizes of the parts add up to",
                 [](const CensusOf& it) { return it.census.mapped; })
          .field("parts", "", [](const CensusOf& it) {
            std::vector<CensusPart> parts;
            for (std::size_t i = 0; i < profile::kHeapParts; ++i) {
              const auto part = static_cast<HeapPart>(i);
              parts.push_back({part, it.census.of(part)});
            }
            return parts;
          });
  return kFields;
}

struct Reading {
  const profile::SeriesPoint& point;
  Nanoseconds after;
};

const Fields<Reading>& fields_of(Of<Reading> /*type*/) {
  static const auto kFields =
      Fields<Reading>("rss_reading", "A reading, or several that were merged.")
          .field("after_ns", "the start of the process", &Reading::after)
          .field("resident", "", [](const Reading& it) { return it.point.counts.resident; })
          .field("least_resident", "of the readings merged",
                 [](const Reading& it) { return it.point.least; })
          .field("anonymous", "", [](const Reading& it) { return it.point.counts.anonymous; })
          .field("file", "", [](const Reading& it) { return it.point.counts.file; })
          .field("shared", "", [](const Reading& it) { return it.point.counts.shared; })
          .field("swapped", "", [](const Reading& it) { return it.point.counts.swapped; });
  return kFields;
}

const profile::Process& process_of(const InRecording<RssReport>& it) {
  return it.recording.processes[it.it.process];
}

std::optional<present::Measure> if_known(const RssReport& report, const present::Measure& measure) {
  return present::if_true(report.residency_fault.empty(), measure);
}

}  // namespace

const Fields<InRecording<RssReport>>& fields_of(Of<InRecording<RssReport>> /*type*/) {
  using Document = InRecording<RssReport>;
  static const auto kFields =
      Fields<Document>("rss")
          .field("level", "confidence level of all intervals",
                 [](const RssReport& it) { return it.options.level; })
          .field("pid", "", [](const Document& it) { return process_of(it).pid; })
          .field("executable", "", [](const Document& it) { return process_of(it).executable; })
          .field("moment", "of the account: the largest RSS, or the last reading",
                 [](const RssReport& it) {
                   return it.options.moment == profile::Moment::kMaximum ? "maximum" : "last";
                 })
          .one_of({"maximum", "last"})
          .field("after_ns", "the start of the process", &RssReport::after)
          .field("resident_bytes", "RSS then", &RssReport::resident)
          .field("swapped_bytes", "", &RssReport::swapped)
          .field("high_water_bytes", "the largest RSS by the kernel's own count",
                 &RssReport::high_water)
          .field("misses_objects", "live objects may have no sample for another reason than chance",
                 &RssReport::misses_objects)
          .field("contradiction_bytes",
                 "live bytes that at least are in none of the memory they can be in; 0: none",
                 &RssReport::excess)
          .field("rows", "add up to RSS unless `contradiction_bytes` is not 0",
                 [](const RssReport& it) {
                   std::vector<AccountRow> rows;
                   for (const RssRow& row : it.rows) rows.push_back({row, it.has_shares()});
                   return rows;
                 })
          .field("heap_census", "of geiger's own allocator",
                 [](const RssReport& it) {
                   return it.census ? std::optional(CensusOf{*it.census}) : std::nullopt;
                 })
          .field("live", "objects live then, by size", &RssReport::live)
          .field("has_residency", "pages could be read",
                 [](const RssReport& it) { return it.residency_fault.empty(); })
          .field("live_resident", "their bytes in memory",
                 [](const RssReport& it) { return if_known(it, it.live_resident); })
          .field("live_swapped", "their bytes in swap",
                 [](const RssReport& it) { return if_known(it, it.live_swapped); })
          .field("live_untouched", "their bytes that were never touched",
                 [](const RssReport& it) { return if_known(it, it.live_untouched); })
          .field("residency_fault", "why pages could not be read",
                 [](const RssReport& it) {
                   return present::if_true(!it.residency_fault.empty(), it.residency_fault);
                 })
          .field("failed_readings", "", &RssReport::refused)
          .field("cost_ns", "processor time of all readings", &RssReport::cost)
          .field("observed_ns", "from the first reading to the last", &RssReport::observed)
          .field("series", "", [](const Document& it) {
            std::vector<Reading> readings;
            for (const profile::SeriesPoint& point : it.it.series) {
              readings.push_back({point, point.time - std::min(point.time, process_of(it).start)});
            }
            return readings;
          });
  return kFields;
}

std::string to_json(const RssReport& report, const profile::Recording& recording) {
  return present::document("rss", report, recording);
}

}  // namespace geiger::report
