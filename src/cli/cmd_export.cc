// `geiger export FORMAT`: the profile for other tools.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <optional>

#include "analysis/export/folded.h"
#include "analysis/export/pprof.h"
#include "analysis/export/sql.h"
#include "analysis/export/sqlite.h"
#include "analysis/profile/mappings.h"
#include "analysis/profile/measured.h"
#include "analysis/report/format.h"
#include "analysis/report/measure.h"
#include "cli/commands.h"
#include "cli/input.h"
#include "cli/output.h"
#include "cli/selection.h"
#include "cli/terminal.h"

namespace geiger::cli {
namespace {

using profile::Kind;
using profile::Profile;
using profile::Recording;

struct Options {
  ReadOptions read;
  std::string output = "-";
  bool replaces = false;
  SelectionOptions selection;
};

using Writer =
    std::function<void(const Recording&, const Options&, const Subject&, const exports::Sink&)>;

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

void write_pprof(const Recording& recording, const Options& options, const Subject& subject,
                 const exports::Sink& sink) {
  const profile::Selection& part = subject.selection;
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
  if (subject.scope.is_part() || is_peak || profile::is_measured(part.kind)) {
    const std::string only = report::only_text(subject.scope);
    pprof.comments.push_back(fmt::format("{}{}{}", report::text_of(subject.scope, part.kind),
                                         only.empty() ? "" : "; ", only));
  }
  if (is_mapped) return exports::write_pprof(recording, allocated, live, pprof, sink);
  const double level = options.read.level;
  if (kinds.allocated) {
    pprof.comments.push_back(total_comment("alloc", recording, allocated, level));
  }
  pprof.comments.push_back(total_comment("inuse", recording, live, level));
  exports::write_pprof(recording, allocated, live, pprof, sink);
}

void write_folded(const Recording& recording, const Options&, const Subject& subject,
                  const exports::Sink& sink) {
  exports::write_folded(recording, profile::select(recording, subject.selection), sink);
}

void write_sql(const Recording& recording, const Options&, const Subject& subject,
               const exports::Sink& sink) {
  exports::write_sql(recording, sink, subject.selection);
}

void write_sqlite(const Recording& recording, const Options&, const Subject& subject,
                  const exports::Sink& sink) {
  exports::write_sqlite(recording, sink, subject.selection);
}

/// Of the program itself rather than of a run.
int write_text(const Options& options, std::string_view text) {
  Output output(options.output, options.replaces);
  output.write(text);
  output.commit();
  if (output.error().empty()) return kExitOk;
  complain(output.error());
  return kExitFailed;
}

int write_export(const Options& options, bool is_binary, const Writer& writer) {
  if (is_binary && options.output == "-" && isatty(STDOUT_FILENO) == 1) {
    complain("this format is not for terminals: -o FILE, or a pipe");
    return kExitUsage;
  }
  Output output(options.output, options.replaces);
  if (output.error().empty()) {
    const auto input = read_input(options.read);
    if (!input) return kExitFailed;
    const Subject subject = subject_or_refuse(options.selection, input->recording());
    if (!can_select(input->recording(), subject.selection)) return kExitFailed;
    writer(input->recording(), options, subject,
           [&](std::string_view bytes) { output.write(bytes); });
    output.commit();
    if (output.error().empty()) return input->exit_code();
  }
  complain(output.error());
  return kExitFailed;
}

/// One FORMAT of the verb with the options that all have.
CLI::App* add_format(CLI::App& verb, const char* name, const char* help, Options& options,
                     Kinds kinds = Kinds::kOfWholeObjects) {
  CLI::App* format = verb.add_subcommand(name, help);
  add_read_options(*format, options.read, false);
  format->add_option("-o,--output", options.output, "File to write; - for standard output")
      ->type_name("FILE");
  format->add_flag("-f,--force", options.replaces, "Replace the file if it exists");
  add_selection_options(*format, options.selection, kinds);
  return format;
}

void add_pprof(CLI::App& verb, int& exit_code) {
  auto options = std::make_shared<Options>();
  add_format(verb, "pprof", "pprof's profile.proto, gzipped, for go tool pprof and its relatives",
             *options, Kinds::kAll)
      ->callback([options, &exit_code] { exit_code = write_export(*options, true, write_pprof); });
}

void add_folded(CLI::App& verb, int& exit_code) {
  auto options = std::make_shared<Options>();
  add_format(verb, "folded", "Folded stacks for flame graphs: root;caller;leaf BYTES", *options,
             Kinds::kAll)
      ->callback(
          [options, &exit_code] { exit_code = write_export(*options, false, write_folded); });
}

void add_sqlite(CLI::App& verb, int& exit_code) {
  auto options = std::make_shared<Options>();
  add_format(verb, "sqlite", "An SQLite database: samples, and views that estimate", *options)
      ->callback([options, &exit_code] { exit_code = write_export(*options, true, write_sqlite); });
}

void add_sql(CLI::App& verb, int& exit_code) {
  auto options = std::make_shared<Options>();
  auto has_views_only = std::make_shared<bool>(false);
  CLI::App* format =
      add_format(verb, "sql", "The same as SQL text, for SQLite and PostgreSQL", *options);
  format->add_flag("--views", *has_views_only, "Only the views, which need no run");
  format->callback([options, has_views_only, &exit_code] {
    exit_code = *has_views_only ? write_text(*options, exports::sql_views())
                                : write_export(*options, false, write_sql);
  });
}

}  // namespace

void register_export(CLI::App& app, int& exit_code) {
  CLI::App* verb = app.add_subcommand("export", "Write the profile for other tools");
  verb->require_subcommand(1);
  add_pprof(*verb, exit_code);
  add_folded(*verb, exit_code);
  add_sqlite(*verb, exit_code);
  add_sql(*verb, exit_code);
}

}  // namespace geiger::cli
