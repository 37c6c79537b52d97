#include "cli/options/export_formats.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "analysis/export/firefox.h"
#include "analysis/export/flame_graphs.h"
#include "analysis/export/heap_profilers.h"
#include "analysis/export/heap_text.h"
#include "analysis/export/otlp.h"
#include "analysis/export/pprof.h"
#include "analysis/export/shown_stacks.h"
#include "analysis/export/sql/rows.h"
#include "analysis/export/sql/sql.h"
#include "analysis/present/format.h"
#include "analysis/present/heading.h"
#include "analysis/present/measure.h"
#include "analysis/profile/frames/labels.h"
#include "analysis/profile/memory/mappings.h"
#include "analysis/profile/memory/measured.h"
#include "analysis/profile/select/gaps.h"
#include "cli/options/ending.h"
#include "cli/options/selection_options.h"
#include "fleet/push/file_ids.h"
#include "fleet/push/otlp_resource.h"

namespace geiger::cli {

namespace {

using exports::Sink;
using exports::TitledProfile;
using exports::Weight;
using profile::Kind;
using profile::Profile;

Profile selected(const ExportRequest& request) {
  return profile::select(request.recording, request.subject.selection);
}

/// A text that viewers show of a file, with what the filters leave open.
std::string with_open(std::string text, const ExportRequest& request) {
  return request.open.empty() ? text : text + "; " + request.open;
}

void write_folded(const ExportRequest& request, const Sink& sink) {
  exports::write_folded(request.recording, selected(request), sink, request.names);
}

void write_sql(const ExportRequest& request, const Sink& sink) {
  exports::write_sql(request.recording, sink, request.subject.selection);
}

void write_sqlite(const ExportRequest& request, const Sink& sink) {
  exports::write_sqlite(request.recording, sink, request.subject.selection);
}

void write_csv(const ExportRequest& request, const Sink& sink) {
  exports::write_csv(request.recording, selected(request), request.level, sink);
}

void write_json_lines(const ExportRequest& request, const Sink& sink) {
  exports::write_json_lines(request.recording, selected(request), request.subject.scope,
                            request.level, sink);
}

/// Objects from their allocation to their free are of no kind.
base::Outcome<void> check_no_kind(const ExportRequest& request, const char* format) {
  if (!request.has_kind) return {};
  return query::check_lives(request.subject.selection.kind, format).failing_as(base::Fault::kUsage);
}

base::Outcome<void> check_firefox(const ExportRequest& request) {
  GEIGER_TRY(check_no_kind(request, "firefox"));
  return check_followed(request.recording, "export firefox");
}

base::Outcome<void> check_heaptrack(const ExportRequest& request) {
  return check_no_kind(request, "heaptrack");
}

/// Its rows are samples, or exact.
base::Outcome<void> check_heap_text(const ExportRequest& request) {
  if (!profile::is_any_without_errors(request.recording)) return {};
  return base::Failure{"export heap_v2: a profile does not contain its errors",
                       base::Fault::kRequest};
}

/// Mappings and measured pages have no leak suspects.
base::Outcome<void> check_pprof(const ExportRequest& request) {
  if (!request.labels_leaks) return {};
  const Kind kind = request.subject.selection.kind;
  GEIGER_TRY(check_followed(request.recording, "export pprof --leaks"));
  if (!profile::is_of_mappings(kind) && !profile::is_measured(kind)) return {};
  return base::Failure{fmt::format("--leaks: not of --kind {}", profile::name_of(kind)),
                       base::Fault::kUsage};
}

void write_firefox(const ExportRequest& request, const Sink& sink) {
  exports::write_firefox(request.recording, request.subject.selection, sink, request.names);
}

void write_heaptrack(const ExportRequest& request, const Sink& sink) {
  const std::string command = fmt::format(
      "{} ({})", exports::program_of(request.recording),
      with_open("estimated by geiger: one block is one sample, with the bytes it stands for",
                request));
  exports::write_heaptrack(request.recording, request.subject.selection, command, sink);
}

void write_dhat(const ExportRequest& request, const Sink& sink) {
  const bool has_lives = !request.has_kind && !query::is_aggregated(request.recording);
  const std::string command = with_open(exports::program_of(request.recording), request);
  if (has_lives) {
    return exports::write_dhat(request.recording, request.subject.selection, command, sink);
  }
  exports::write_dhat_of(request.recording, selected(request), command, sink);
}

std::string title_of(const ExportRequest& request, const Profile& profile, Weight weight) {
  const auto measure = present::measure_total(request.recording, profile, request.level);
  const std::string what = present::text_of(request.subject.scope, profile.kind);
  if (weight == Weight::kObjects) {
    return fmt::format("{}, objects: {}", what, present::objects_figure(measure).text());
  }
  return fmt::format("{}: {}", what,
                     present::figure(measure.bytes, present::Quantity::kBytes).text());
}

/// The kinds that one file of flame graphs shows: the requested ones, else the usual ones.
std::vector<Kind> kinds_of(const ExportRequest& request) {
  if (request.has_kind) return {request.subject.selection.kind};
  if (query::is_aggregated(request.recording)) return {Kind::kLiveAtEnd, Kind::kAllocated};
  return {Kind::kLiveAtPeak, Kind::kLiveAtEnd, Kind::kAllocated};
}

void write_speedscope(const ExportRequest& request, const Sink& sink) {
  std::deque<Profile> profiles;  // They do not move.
  std::vector<TitledProfile> titled;
  const auto add = [&](const Profile& profile, Weight weight) {
    titled.push_back({title_of(request, profile, weight), &profile, weight});
  };
  for (const Kind kind : kinds_of(request)) {
    profiles.push_back(
        profile::select(request.recording, of_kind(request.subject.selection, kind)));
    add(profiles.back(), Weight::kBytes);
  }
  if (!profile::is_measured(profiles.back().kind)) add(profiles.back(), Weight::kObjects);
  const std::string program = exports::program_of(request.recording);
  const std::string name = with_open(fmt::format("{}, ± at {}", profile::file_name_of(program),
                                                 present::level_text(request.level)),
                                     request);
  exports::write_speedscope(request.recording, titled, name, sink, request.names);
}

constexpr ExportFormat kFormats[] = {
    {.name = "pprof",
     .help = "pprof's profile.proto, gzipped, for go tool pprof and similar tools",
     .is_binary = true,
     .is_packed = true,
     .has_limits = true,
     .has_frames = true,
     .write = write_pprof,
     .check = check_pprof},
    {.name = "otlp",
     .help = "OpenTelemetry's profiles (OTLP): protobuf, or JSON with --json",
     .is_binary = true,
     .has_level = true,
     .has_limits = true,
     .has_frames = true,
     .write = write_otlp},
    {.name = "speedscope",
     .help = "speedscope's JSON: flame graphs of the peak, the end and all allocations",
     .has_level = true,
     .has_limits = true,
     .has_frames = true,
     .has_names = true,
     .write = write_speedscope},
    {.name = "firefox",
     .help = "Firefox profiler's JSON: allocations, frees and the heap on a timeline",
     .has_frames = true,
     .has_names = true,
     .kinds = query::Kinds::kOfWholeObjects,
     .write = write_firefox,
     .check = check_firefox},
    {.name = "dhat",
     .help = "DHAT's JSON with lifetimes: valgrind's dh_view.html, Firefox profiler",
     .has_frames = true,
     .write = write_dhat},
    {.name = "heaptrack",
     .help = "heaptrack's text: heaptrack_print, heaptrack_gui",
     .has_frames = true,
     .kinds = query::Kinds::kOfWholeObjects,
     .write = write_heaptrack,
     .check = check_heaptrack},
    {.name = "heap_v2",
     .help = "Heap profile as text with names, for google-pprof and jeprof",
     .has_level = true,
     .has_limits = true,
     .kinds = query::Kinds::kOfWholeObjects,
     .write = write_heap_text,
     .check = check_heap_text},
    {.name = "folded",
     .help = "Folded stacks for flame graphs: root;caller;leaf BYTES",
     .has_frames = true,
     .has_names = true,
     .write = write_folded},
    {.name = "csv",
     .help = "One row per stack: samples, bytes and objects with variance and interval",
     .has_level = true,
     .has_limits = true,
     .write = write_csv},
    {.name = "jsonl",
     .help = "The rows of csv as one JSON object per line, with source files and lines",
     .has_level = true,
     .has_limits = true,
     .write = write_json_lines},
    {.name = "sqlite",
     .help = "An SQLite database with the samples, and views that compute estimates",
     .is_binary = true,
     .is_packed = true,
     .has_limits = true,
     .kinds = query::Kinds::kOfWholeObjects,
     .write = write_sqlite},
    {.name = "sql",
     .help = "The database of sqlite as SQL text, for SQLite and PostgreSQL",
     .has_limits = true,
     .kinds = query::Kinds::kOfWholeObjects,
     .write = write_sql},
};

}  // namespace

std::span<const ExportFormat> export_formats() { return kFormats; }

// Which kinds go into which columns of formats that have two: what was allocated, what is live.

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
  if (request.labels_leaks) pprof.accused = profile::accused_stacks(request.recording);
  exports::write_pprof(request.recording, columns.allocated, columns.live, pprof, sink);
}

void write_otlp(const ExportRequest& request, const exports::Sink& sink) {
  const Recording& recording = request.recording;
  const profile::Selection& part = request.subject.selection;
  const Columns columns = columns_of(request);
  const exports::RecordedTime time = exports::recorded_time(recording);
  const auto since_1970 = [&time](Nanoseconds instant) {
    return time.realtime + (std::clamp(instant, time.start, time.end) - time.start);
  };
  exports::OtlpOptions otlp;
  const profile::Process& main = profile::main_process(recording);
  otlp.resource = fleet::resource_of(request.origin,
                                     {fleet::id_of(main, request.origin.host), main.executable});
  otlp.resource.try_emplace("process.pid", static_cast<std::int64_t>(main.pid));
  fleet::add_file_ids(otlp.file_ids, recording);
  otlp.extent.has_sizes = request.otlp.has_sizes;
  otlp.is_live_first = request.has_kind && part.kind != Kind::kAllocated;
  otlp.has_variances = request.otlp.has_errors;
  const bool has_errors =
      !profile::is_of_mappings(part.kind) && !profile::is_any_without_errors(recording);
  otlp.level = has_errors ? std::optional(request.level) : std::nullopt;
  otlp.begin = since_1970(part.from.value_or(time.start));
  otlp.end = since_1970(part.at.value_or(part.to.value_or(time.end)));
  otlp.comments = columns.comments;
  const std::string data = exports::otlp_data(recording, columns.allocated, columns.live, otlp);
  request.otlp.is_json ? exports::write_otlp_json(data, sink) : sink(data);
}

void write_heap_text(const ExportRequest& request, const exports::Sink& sink) {
  const Columns columns = columns_of(request);
  exports::write_heap_text(request.recording, columns.allocated, columns.live, columns.comments,
                           sink);
}

}  // namespace geiger::cli
