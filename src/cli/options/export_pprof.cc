// Which kinds go into which columns of formats that have two: what was allocated, what is live.
#include <fmt/format.h>

#include <optional>
#include <string>
#include <vector>

#include "analysis/export/heap_text.h"
#include "analysis/export/pprof.h"
#include "analysis/export/pprof_comments.h"
#include "analysis/profile/memory/mappings.h"
#include "analysis/profile/memory/measured.h"
#include "cli/options/export_formats.h"

namespace geiger::cli {
namespace {

using profile::Kind;
using profile::Profile;
using profile::Recording;

/// Residency and what is stranded are of an instant: nothing is allocated then.
struct ColumnKinds {
  std::optional<Kind> allocated;
  Kind held;
};
ColumnKinds column_kinds_of(Kind kind) {
  if (profile::is_of_mappings(kind)) return {Kind::kMappedTotal, Kind::kMapped};
  if (kind == Kind::kOverhead) return {Kind::kOverhead, Kind::kLiveOverhead};
  if (kind == Kind::kLiveOverhead) return {Kind::kOverhead, Kind::kLiveOverhead};
  if (profile::is_of_blocks(kind)) return {Kind::kUsable, Kind::kLiveUsable};
  if (profile::is_measured(kind)) return {std::nullopt, kind};
  const bool is_peak = kind == Kind::kLiveAtPeak;
  return {Kind::kAllocated, is_peak ? Kind::kLiveAtPeak : Kind::kLiveAtEnd};
}

/// What the two columns are of, and what there is to say of them.
struct Columns {
  Profile allocated, live;
  std::vector<std::string> comments;
};

Columns columns_of(const ExportRequest& request) {
  const Recording& recording = request.recording;
  const profile::Selection& part = request.subject.selection;
  const present::Scope& scope = request.subject.scope;
  const ColumnKinds kinds = column_kinds_of(part.kind);
  Columns columns;
  if (kinds.allocated) {
    columns.allocated = profile::select(recording, of_kind(part, *kinds.allocated));
  }
  columns.live = profile::select(recording, of_kind(part, kinds.held));
  std::string words;
  if (scope.is_part() || part.kind == Kind::kLiveAtPeak || profile::is_measured(part.kind)) {
    const std::string only = present::only_text(scope);
    words =
        fmt::format("{}{}{}", present::text_of(scope, part.kind), only.empty() ? "" : "; ", only);
  }
  columns.comments =
      exports::pprof_comments(recording, kinds.allocated ? &columns.allocated : nullptr,
                              columns.live, request.level, words);
  if (!request.open.empty()) columns.comments.push_back(request.open);
  return columns;
}

}  // namespace

void write_pprof(const ExportRequest& request, const exports::Sink& sink) {
  const Columns columns = columns_of(request);
  exports::PprofOptions pprof;
  pprof.comments = columns.comments;
  exports::write_pprof(request.recording, columns.allocated, columns.live, pprof, sink);
}

void write_heap_text(const ExportRequest& request, const exports::Sink& sink) {
  const Columns columns = columns_of(request);
  exports::write_heap_text(request.recording, columns.allocated, columns.live, columns.comments,
                           sink);
}

}  // namespace geiger::cli
