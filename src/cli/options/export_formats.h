// The formats of `geiger export`, as a table with one line per format.
#pragma once

#include <span>
#include <string>

#include "analysis/export/streams/sink.h"
#include "analysis/present/text.h"
#include "analysis/profile/recording/recording.h"
#include "cli/options/selection_options.h"
#include "fleet/document/cut.h"

namespace geiger::cli {

/// What OTLP contains on request.
struct OtlpDetail {
  bool has_errors = false, has_sizes = false, is_json = false;
};

/// What is to be written.
struct ExportRequest {
  const profile::Recording& recording;
  const query::Subject& subject;
  bool has_kind = false;  ///< --kind was given: that one only, where a format can hold several.
  double level = 0.95;    ///< In (0, 1).
  present::Names names = present::Names::kShort;  ///< Of formats for people.
  bool labels_leaks = false;                      ///< Of pprof.
  OtlpDetail otlp = {};
  fleet::Origin origin = {};  ///< Of otlp.
  std::string open = {};  ///< How many bytes the filters cannot decide about, and why; or empty.
};

struct ExportFormat {
  const char* name;
  const char* help;
  bool is_binary = false;   ///< Never to a terminal.
  bool is_packed = false;   ///< Has its own compression, or wants none.
  bool has_level = false;   ///< Its numbers have intervals: --ci.
  bool has_limits = false;  ///< It has upper limits, if only of totals.
  bool has_frames = false;  ///< Its viewers show stacks: --hide, --rules, --no-plumbing.
  bool has_names = false;   ///< Its viewers show functions as they are named there: --names.
  query::Kinds kinds = query::Kinds::kAll;
  void (*write)(const ExportRequest& request, const exports::Sink& sink);
  /// Fails where the format cannot show what is requested; nullptr: it shows everything.
  base::Outcome<void> (*check)(const ExportRequest& request) = nullptr;
};

/// In the order of the help text.
[[nodiscard]] std::span<const ExportFormat> export_formats();

/// Two columns are of the kind; the comments contain their totals.
void write_pprof(const ExportRequest& request, const exports::Sink& sink);
void write_heap_text(const ExportRequest& request, const exports::Sink& sink);
void write_otlp(const ExportRequest& request, const exports::Sink& sink);

}  // namespace geiger::cli
