// Which kinds go into which columns of a pprof profile, and what its comments say.
#include <fmt/format.h>

#include <optional>
#include <string>

#include "analysis/export/pprof.h"
#include "analysis/profile/mappings.h"
#include "analysis/profile/measured.h"
#include "analysis/report/format.h"
#include "analysis/report/measure.h"
#include "cli/export_formats.h"

namespace geiger::cli {
namespace {

using profile::Kind;
using profile::Profile;
using profile::Recording;

std::string total_comment(const char* name, const Recording& recording, const Profile& profile,
                          double level) {
  const auto measure = report::measure_total(profile::total(recording, profile), level);
  return fmt::format("{}_space {} ({} interval, {}); {}_objects {}", name,
                     figure(measure.bytes, report::Quantity::kBytes).text(),
                     report::level_text(level), report::plural(measure.samples, "sample"), name,
                     objects_figure(measure).text());
}

/// What pprof's alloc_* and inuse_* columns are of. Residency and what is stranded are of
/// an instant: nothing stands in alloc_* then.
struct PprofKinds {
  std::optional<Kind> allocated;
  Kind held;
};
PprofKinds pprof_kinds_of(Kind kind) {
  if (profile::is_of_mappings(kind)) return {Kind::kMappedTotal, Kind::kMapped};
  if (kind == Kind::kOverhead) return {Kind::kOverhead, Kind::kLiveOverhead};
  if (kind == Kind::kLiveOverhead) return {Kind::kOverhead, Kind::kLiveOverhead};
  if (profile::is_measured(kind)) return {std::nullopt, kind};
  const bool is_peak = kind == Kind::kLiveAtPeak;
  return {Kind::kAllocated, is_peak ? Kind::kLiveAtPeak : Kind::kLiveAtEnd};
}

}  // namespace

void write_pprof(const ExportRequest& request, const exports::Sink& sink) {
  const Recording& recording = request.recording;
  const profile::Selection& part = request.subject.selection;
  const report::Scope& scope = request.subject.scope;
  const bool is_peak = part.kind == Kind::kLiveAtPeak;
  const bool is_mapped = profile::is_of_mappings(part.kind);
  const PprofKinds kinds = pprof_kinds_of(part.kind);
  const Profile allocated =
      kinds.allocated ? profile::select(recording, of_kind(part, *kinds.allocated)) : Profile{};
  const Profile live = profile::select(recording, of_kind(part, kinds.held));
  exports::PprofOptions pprof;
  if (is_mapped) {
    pprof.comments.emplace_back("mapped past the allocator, every call counted by geiger");
  } else if (!recording.processes.empty()) {
    pprof.comments.push_back(
        fmt::format("estimated by geiger from samples, one byte in {} on average",
                    report::exact_bytes(recording.processes.front().interval)));
  }
  if (scope.is_part() || is_peak || profile::is_measured(part.kind)) {
    const std::string only = report::only_text(scope);
    pprof.comments.push_back(
        fmt::format("{}{}{}", report::text_of(scope, part.kind), only.empty() ? "" : "; ", only));
  }
  if (!is_mapped) {
    if (kinds.allocated) {
      pprof.comments.push_back(total_comment("alloc", recording, allocated, request.level));
    }
    pprof.comments.push_back(total_comment("inuse", recording, live, request.level));
  }
  exports::write_pprof(recording, allocated, live, pprof, sink);
}

}  // namespace geiger::cli
