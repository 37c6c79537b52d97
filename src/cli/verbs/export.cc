// `geiger export FORMAT`: the profile for other tools.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "analysis/export/sql/sql.h"
#include "analysis/export/streams/gzip.h"
#include "analysis/present/heading.h"
#include "analysis/present/measure.h"
#include "analysis/profile/frames/frame_roles.h"
#include "cli/options/export_formats.h"
#include "cli/options/fleet_options.h"
#include "cli/options/input.h"
#include "cli/options/output.h"
#include "cli/options/selection_options.h"
#include "cli/options/terminal_options.h"
#include "cli/verbs/commands.h"
#include "terminal/terminal.h"

namespace geiger::cli {
namespace {

struct ExportArguments {
  ReadOptions read;
  std::string output = "-";
  bool replaces = false;
  bool has_views_only = false;
  bool labels_leaks = false;
  OtlpDetail otlp;
  OriginOptions origin;
  query::SelectionOptions selection;
};

bool is_otlp(const ExportFormat& format) { return format.write == &write_otlp; }

/// Of the program itself rather than of a run.
base::Outcome<int> write_text(const ExportArguments& options, std::string_view text) {
  Output output(options.output, options.replaces);
  output.write(text);
  GEIGER_TRY(output.commit());
  return kExitOk;
}

void write_compressed(const ExportFormat& format, const ExportRequest& request,
                      const ExportArguments& options, Output& output) {
  const exports::Sink sink = [&](std::string_view bytes) { output.write(bytes); };
  const auto stream = exports::compressed_by_name(format.is_packed ? "" : options.output, sink);
  format.write(request, [&](std::string_view bytes) { stream->write(bytes); });
  stream->finish();
}

/// What the filters leave open must be said: few formats have a place for upper limits.
std::string open_text(const ExportFormat& format, const ExportArguments& options,
                      const profile::Recording& recording, const query::Subject& subject) {
  if (subject.scope.open.empty()) return "";
  const auto total = present::measure_total(
      recording, profile::select(recording, subject.selection), options.read.level);
  return present::open_text(total, subject.scope,
                            format.has_limits ? "in upper limits only" : "not in this file");
}

base::Outcome<int> write_export(const ExportFormat& format, const ExportArguments& options) {
  if (format.is_binary && !options.otlp.is_json && options.output == "-" &&
      isatty(STDOUT_FILENO) == 1) {
    return base::Failure{"this format is binary: use -o FILE or a pipe", base::Fault::kRequest};
  }
  Output output(options.output, options.replaces);
  GEIGER_TRY(output.outcome());
  auto input = GEIGER_TRY(read_input(options.read, options.selection));
  profile::Recording& recording = input.ingested.recording;
  const auto subject = GEIGER_TRY(subject_in(options.selection, recording));
  // After filters, which match frames that are not shown too.
  const bool leaves_out = recording.frame_rules && recording.frame_rules->leaves_out();
  if (format.has_frames && leaves_out) profile::keep_shown_frames(recording);
  GEIGER_TRY(check_data(recording, subject.selection));
  fleet::Origin origin;
  if (is_otlp(format)) {
    OriginOptions named = options.origin;
    add_environment(named);
    origin = GEIGER_TRY(origin_of(named, recording));
  }
  const ExportRequest request{recording,
                              subject,
                              options.selection.kind.has_value(),
                              options.read.level,
                              terminal::output_style(options.read.level).names,
                              options.labels_leaks,
                              options.otlp,
                              origin,
                              open_text(format, options, recording, subject)};
  if (!request.open.empty()) terminal::complain(request.open);
  GEIGER_TRY(format.check != nullptr ? format.check(request) : base::Outcome<void>());
  write_compressed(format, request, options, output);
  GEIGER_TRY(output.commit());
  return input.exit_code();
}

/// One FORMAT of the verb with the options that all have.
void add_format(CLI::App& verb, const ExportFormat& format, Work& work) {
  auto options = std::make_shared<ExportArguments>();
  CLI::App* added = verb.add_subcommand(format.name, format.help);
  add_read_options(*added, options->read, false);
  if (format.has_level) add_level_option(*added, options->read.level);
  if (format.has_frames) add_all_frames_options(*added, options->read.frames);
  if (format.has_names) add_names_option(*added);
  added
      ->add_option("-o,--output", options->output,
                   format.is_binary ? "File to write; - for standard output"
                                    : "File to write, compressed if it ends in .gz or .zst;\n"
                                      "- for standard output")
      ->type_name("FILE");
  added->add_flag("-f,--force", options->replaces, "Replace the file if it exists");
  add_selection_options(*added, options->selection, format.kinds);
  const bool is_sql = std::string_view(format.name) == "sql";
  if (is_sql) {
    added->add_flag("--views", options->has_views_only, "Write only the views, which needs no run");
  }
  if (std::string_view(format.name) == "pprof") {
    added->add_flag("--leaks", options->labels_leaks,
                    "Label the stacks of leak suspects: leak, leak_owner");
  }
  if (is_otlp(format)) {
    added->add_flag("--json", options->otlp.is_json, "OTLP's JSON instead of protobuf");
    added->add_flag("--errors", options->otlp.has_errors,
                    "Also write the variance of each stack, as profiles of their own");
    added->add_flag("--sizes", options->otlp.has_sizes,
                    "Distinguish samples by the size of their objects, in allocation_size");
    add_origin_options(*added, options->origin);
    added
        ->add_option("--attribute", options->origin.labels,
                     "An attribute of the resource, such as zone=b; repeatable")
        ->type_name("NAME=VALUE")
        ->allow_extra_args(false);
  }
  added->callback([options, format, &work] {
    work = [options, format] {
      return options->has_views_only ? write_text(*options, exports::sql_views())
                                     : write_export(format, *options);
    };
  });
}

}  // namespace

void register_export(CLI::App& app, Work& work) {
  CLI::App* verb = app.add_subcommand("export", "Write the profile for other tools");
  verb->require_subcommand(1);
  for (const ExportFormat& format : export_formats()) add_format(*verb, format, work);
}

}  // namespace geiger::cli
