// `geiger export FORMAT`: the profile for other tools.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "analysis/export/sql/sql.h"
#include "analysis/export/streams/compressed.h"
#include "analysis/profile/frames/frame_roles.h"
#include "analysis/profile/frames/shown_frames.h"
#include "cli/options/export_formats.h"
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
  query::SelectionOptions selection;
};

/// Of the program itself rather than of a run.
int write_text(const ExportArguments& options, std::string_view text) {
  Output output(options.output, options.replaces);
  output.write(text);
  output.commit();
  if (output.error().empty()) return kExitOk;
  terminal::complain(output.error());
  return kExitFailed;
}

void write_compressed(const ExportFormat& format, const ExportRequest& request,
                      const ExportArguments& options, Output& output) {
  const exports::Sink sink = [&](std::string_view bytes) { output.write(bytes); };
  // What is binary has its own compression, or wants none.
  const auto stream = exports::compressed_by_name(format.is_binary ? "" : options.output, sink);
  format.write(request, [&](std::string_view bytes) { stream->write(bytes); });
  stream->finish();
}

int write_export(const ExportFormat& format, const ExportArguments& options) {
  if (format.is_binary && options.output == "-" && isatty(STDOUT_FILENO) == 1) {
    terminal::complain("this format is binary: use -o FILE or a pipe");
    return kExitUsage;
  }
  Output output(options.output, options.replaces);
  if (output.error().empty()) {
    auto input = read_input(options.read);
    if (!input) return kExitFailed;
    profile::Recording& recording = input->ingested.recording;
    const query::Subject subject = subject_or_refuse(options.selection, recording);
    // After filters, which match frames that are not shown too.
    const bool leaves_out = recording.frame_rules && recording.frame_rules->leaves_out();
    if (format.has_frames && leaves_out) profile::keep_shown_frames(recording);
    if (!can_select(recording, subject.selection)) return kExitFailed;
    const ExportRequest request{recording, subject, options.selection.kind.has_value(),
                                options.read.level,
                                terminal::output_style(options.read.level).names};
    write_compressed(format, request, options, output);
    output.commit();
    if (output.error().empty()) return input->exit_code();
  }
  terminal::complain(output.error());
  return kExitFailed;
}

/// One FORMAT of the verb with the options that all have.
void add_format(CLI::App& verb, const ExportFormat& format, int& exit_code) {
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
  added->callback([options, format, &exit_code] {
    exit_code = options->has_views_only ? write_text(*options, exports::sql_views())
                                        : write_export(format, *options);
  });
}

}  // namespace

void register_export(CLI::App& app, int& exit_code) {
  CLI::App* verb = app.add_subcommand("export", "Write the profile for other tools");
  verb->require_subcommand(1);
  for (const ExportFormat& format : export_formats()) add_format(*verb, format, exit_code);
}

}  // namespace geiger::cli
