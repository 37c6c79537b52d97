// What the verbs that read a run have in common: which run, at which level, and
// how it becomes a recording with names.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/holders/holders.h"
#include "analysis/import/foreign_process.h"
#include "analysis/ingest/ingest.h"
#include "analysis/profile/recording/recording.h"
#include "analysis/profile/select/profile.h"
#include "base/outcome.h"
#include "cli/options/selection_options.h"
#include "query/selection.h"

namespace CLI {
class App;
}

namespace geiger::cli {

struct ReadOptions {
  std::vector<std::string> runs;  ///< Trace files and run directories; none: the newest here.
  double level = 0.95;            ///< In (0, 1).
  bool is_json = false;
  query::FrameOptions frames;
  bool includes_finalization = false;  ///< As of ingest::Options.
  bool observes_running = false;       ///< Also read the memory of processes that still run.
  bool reads_content = false;          ///< And what their objects contain.
  /// Also look for what holds the memory of such processes.
  std::optional<holders::Options> holders = {};
  /// In this core file instead, of the process that it is of.
  const holders::CoreFile* core = nullptr;
  /// Also look for the types of `new Foo`, which takes longer, and for those of Python's objects in
  /// processes that still run.
  bool infers_types = false;
};

/// RUN..., and with `has_report` also --ci and --json.
void add_read_options(CLI::App& verb, ReadOptions& options, bool has_report = true);

/// --ci (or --level).
void add_level_option(CLI::App& verb, double& level);

/// --ci (or --level), --json, and what terminal_options.h adds.
void add_report_options(CLI::App& verb, double& level, bool& is_json);

/// --at maximum|last, of what is read from a snapshot.
void add_moment_option(CLI::App& verb, profile::Moment& moment);

/// Fails where the run has no data for the kind that is selected.
base::Outcome<void> check_data(const profile::Recording& recording,
                               const profile::Selection& selection);

/// "0.95", "95" and "95%" are the same level; nothing outside (0, 1) is one, nor a
/// number from 1 to 50 without the sign.
[[nodiscard]] std::optional<double> parse_level(const std::string& text);

struct Input {
  ingest::Ingested ingested;
  std::string shown;  ///< The run as a user would type it; empty if several.
  /// Of profiles that other programs wrote; empty of runs.
  std::vector<imports::Origin> origins;

  [[nodiscard]] const profile::Recording& recording() const { return ingested.recording; }
  /// Of the recording's warnings, those that standard error has had.
  [[nodiscard]] std::vector<std::string> said() const;
  /// kExitFailed if the input was damaged: the report covers what was read.
  [[nodiscard]] int exit_code() const;
};

/// The runs to read: those named, else the newest here.
base::Outcome<std::vector<std::string>> named_or_newest(const std::vector<std::string>& runs);

/// Reads the traces and applies the names stored with them, or the profiles that other programs
/// wrote; not both. Damage, and processes that were never recorded, are reported on standard error,
/// a line each. Fails if there is nothing to report.
base::Outcome<Input> read_traces(const ReadOptions& options);

/// Names from this machine where a recording has none, and the frames of the runtime and the
/// allocator cut from its stacks. Fails where the options of frames contradict one another.
base::Outcome<void> name_frames(profile::Recording& recording, const query::FrameOptions& options);

/// read_traces, then names from this machine where none are stored, then the
/// frames of the runtime and the allocator cut from the stacks.
base::Outcome<Input> read_input(const ReadOptions& options);
/// As above; also looks for types where `selection` asks for one.
base::Outcome<Input> read_input(ReadOptions options, const query::SelectionOptions& selection);

// Accepts profiles that other programs wrote where a run is expected.

/// How many of the runs are such profiles.
[[nodiscard]] std::size_t count_foreign(const std::vector<std::string>& runs);

/// Reads them, with progress on a terminal.
[[nodiscard]] Input read_foreign(const std::vector<std::string>& runs);

/// "FILE: what it is", then what its numbers rest on; a line each.
[[nodiscard]] std::vector<std::string> lines_of(const std::vector<imports::Origin>& origins);

/// `input`, unless it is such a profile: for verbs that need geiger's own recordings.
base::Outcome<Input> only_own(base::Outcome<Input> input, const char* verb);

}  // namespace geiger::cli
