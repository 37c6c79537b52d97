// Which kinds go into which columns of a pprof profile.
#include <fmt/format.h>

#include <optional>
#include <string>

#include "analysis/export/pprof.h"
#include "analysis/profile/mappings.h"
#include "analysis/profile/measured.h"
#include "cli/export_formats.h"
#include "cli/pprof_comments.h"

namespace geiger::cli {
namespace {

using profile::Kind;
using profile::Profile;
using profile::Recording;

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
  const PprofKinds kinds = pprof_kinds_of(part.kind);
  const Profile allocated =
      kinds.allocated ? profile::select(recording, of_kind(part, *kinds.allocated)) : Profile{};
  const Profile live = profile::select(recording, of_kind(part, kinds.held));
  std::string words;
  if (scope.is_part() || part.kind == Kind::kLiveAtPeak || profile::is_measured(part.kind)) {
    const std::string only = report::only_text(scope);
    words =
        fmt::format("{}{}{}", report::text_of(scope, part.kind), only.empty() ? "" : "; ", only);
  }
  exports::PprofOptions pprof;
  pprof.comments =
      pprof_comments(recording, kinds.allocated ? &allocated : nullptr, live, request.level, words);
  exports::write_pprof(recording, allocated, live, pprof, sink);
}

}  // namespace geiger::cli
