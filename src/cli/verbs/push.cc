// `geiger push`: sends runs to the store of a fleet.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "analysis/export/pprof.h"
#include "analysis/present/format.h"
#include "analysis/present/text.h"
#include "analysis/profile/frames/labels.h"
#include "analysis/profile/select/profile.h"
#include "cli/options/ending.h"
#include "cli/options/fleet_options.h"
#include "cli/options/input.h"
#include "cli/options/terminal_options.h"
#include "cli/verbs/commands.h"
#include "fleet/document/cut.h"
#include "fleet/document/encoding.h"
#include "fleet/push/sinks.h"
#include "fleet/store/store.h"
#include "terminal/progress.h"
#include "terminal/terminal.h"

namespace geiger::cli {
namespace {

struct PushArguments {
  std::vector<std::string> words;  ///< RUN... and where to.
  std::string service, version, host, token_file;
  std::vector<std::string> labels;
};

/// The first bytes of a build id distinguish builds.
constexpr std::size_t kVersionDigits = 12;
/// Of the intervals in a profile's comments.
constexpr double kCommentLevel = 0.95;

/// What options leave open: the main process says it.
base::Outcome<fleet::Origin> origin_of(const PushArguments& options,
                                       const profile::Recording& recording) {
  fleet::Origin origin{options.service, options.version, options.host, {}};
  const std::string& executable = profile::main_process(recording).executable;
  if (origin.service.empty()) origin.service = std::filesystem::path(executable).filename();
  if (origin.host.empty()) origin.host = this_host();
  for (const profile::Module& module : recording.modules) {
    if (origin.version.empty() && module.path == executable) {
      origin.version = module.build_id.substr(0, kVersionDigits);
    }
  }
  if (origin.version.empty()) {
    return usage_failure(executable + " has no build id: name its version with --version");
  }
  origin.labels = GEIGER_TRY(labels_of(options.labels));
  return origin;
}

/// "process 17 (its window is too long) and 3 more"; empty if there are none.
std::string text_of(const std::vector<fleet::LeftOut>& left_out,
                    const profile::Recording& recording) {
  constexpr std::size_t kMostSaid = 3;
  return present::first_of(left_out, kMostSaid, [&](const fleet::LeftOut& each) {
    return fmt::format("process {} ({})", recording.processes[each.process].pid, each.reason);
  });
}

/// Sends all of them; the first one that is not taken ends it.
base::Outcome<void> send(const std::vector<fleet::Document>& documents, fleet::Sink& sink) {
  terminal::Progress progress("sending");
  std::size_t sent = 0;
  for (const fleet::Document& document : documents) {
    const fleet::Delivery delivery = sink.send(fleet::pack(document));
    if (delivery.what != fleet::Delivery::What::kTaken) {
      return base::Failure{fmt::format("{} of {} windows sent; the next one was not accepted: {}",
                                       sent, documents.size(), delivery.why)};
    }
    progress.update(++sent, documents.size());
  }
  return {};
}

/// Bytes that a gzip stream, shorter than 4 GiB, unpacks to.
std::size_t unpacked_size(std::string_view gzip) {
  constexpr std::size_t kLength = 4;
  std::size_t size = 0;
  for (std::size_t i = 0; i < kLength && gzip.size() >= kLength; ++i) {
    size = size << 8 | static_cast<unsigned char>(gzip[gzip.size() - 1 - i]);
  }
  return size;
}

/// The run as a profile that keeps to the limits of a store.
std::string pprof_within(const profile::Recording& recording, const fleet::ProfileLimits& limits) {
  const profile::Profile allocated = profile::select(recording, {});
  profile::Selection selection;
  selection.kind = profile::Kind::kLiveAtEnd;
  const profile::Profile live = profile::select(recording, selection);
  exports::PprofOptions options;
  options.comments = exports::pprof_comments(recording, &allocated, live, kCommentLevel, "");
  options.extent = {.has_stacks_only = limits.rows != 0, .most_rows = limits.rows};
  constexpr std::size_t kFewest = 16;
  while (true) {
    std::string bytes;
    exports::write_pprof(recording, allocated, live, options,
                         [&bytes](std::string_view piece) { bytes += piece; });
    const bool fits = limits.bytes == 0 || unpacked_size(bytes) <= limits.bytes;
    if (fits || options.extent.most_rows <= kFewest) return bytes;
    options.extent.most_rows /= 2;
  }
}

/// Seconds since 1970.
void set_extent(fleet::PushedProfile& profile, const profile::Recording& recording) {
  constexpr Nanoseconds kPerSecond = 1'000'000'000;
  profile.begin = INT64_MAX;
  for (const profile::Process& process : recording.processes) {
    const Nanoseconds begin = process.start_realtime;
    const Nanoseconds lasted = std::max(process.end, process.start) - process.start;
    // A damaged trace may have any times: sums of seconds do not overflow.
    const Nanoseconds parts = begin % kPerSecond + lasted % kPerSecond;
    const Nanoseconds end = begin / kPerSecond + lasted / kPerSecond + parts / kPerSecond + 1;
    profile.begin = std::min(profile.begin, static_cast<std::int64_t>(begin / kPerSecond));
    profile.end = std::max(profile.end, static_cast<std::int64_t>(end));
  }
}

/// To a store of another project: the whole run as one profile, with names.
base::Outcome<int> push_profile(const PushArguments& options, const ReadOptions& read,
                                const fleet::Scheme& scheme, const std::string& to) {
  const auto input = GEIGER_TRY(only_own(read_input(read), "push"));
  auto origin = GEIGER_TRY(origin_of(options, input.recording()));
  auto sink = GEIGER_TRY(fleet::open_profile_sink(scheme, to, {options.token_file, {}}));
  fleet::PushedProfile profile{
      origin.service, origin.version, origin.host, origin.labels, 0, 0, {}};
  set_extent(profile, input.recording());
  profile.pprof = pprof_within(input.recording(), sink->limits());
  const fleet::Delivery delivery = sink->send(profile);
  if (delivery.what != fleet::Delivery::What::kTaken) {
    return base::Failure{to + ": not taken: " + delivery.why};
  }
  terminal::complain(fmt::format("a profile of {} {} on {} sent to {}", origin.service,
                                 origin.version, origin.host, to));
  return input.exit_code();
}

base::Outcome<int> push(PushArguments& options) {
  if (options.words.empty()) return usage_failure("push: no store given");
  const std::string to = std::move(options.words.back());
  options.words.pop_back();
  ReadOptions read;
  read.runs = std::move(options.words);
  const auto scheme = GEIGER_TRY(fleet::scheme_of(to));
  if (scheme != nullptr && scheme->open_profiles != nullptr) {
    return push_profile(options, read, *scheme, to);
  }
  const auto input = GEIGER_TRY(only_own(read_traces(read), "push"));
  const auto origin = GEIGER_TRY(origin_of(options, input.recording()));
  const auto cut = GEIGER_TRY(fleet::cut(input.recording(), origin));
  const std::string left_out = text_of(cut.left_out, input.recording());
  if (cut.documents.empty()) return base::Failure{"nothing was sent: " + left_out};
  auto sink = GEIGER_TRY(fleet::open_sink(to, {options.token_file, {}}));
  GEIGER_TRY(send(cut.documents, *sink).with_prefix(to + ": "));
  terminal::complain(fmt::format("{} of {} {} on {} sent to {}",
                                 present::plural(cut.documents.size(), "window"), origin.service,
                                 origin.version, origin.host, to));
  if (!left_out.empty()) {
    terminal::complain("not sent: " + left_out);
    return kExitFailed;
  }
  suggest("fleet top --store", {to});
  return input.exit_code();
}

}  // namespace

void register_push(CLI::App& app, Work& work) {
  auto options = std::make_shared<PushArguments>();
  CLI::App* verb = app.add_subcommand("push", "Send runs to the store of a fleet");
  verb->add_option(
          "RUN", options->words,
          fmt::format("Run directories or trace files (default: the newest here), then\n"
                      "where to send them: https://HOST/PATH of a collector, or a store:\n{};\n"
                      "pyroscope+https:// or parca+https://HOST/PATH get one profile in\n"
                      "pprof's format",
                      fleet::kStoreForms))
      ->type_name("");
  verb->add_option("--service", options->service, "Service (default: the name of the executable)")
      ->type_name("NAME");
  verb->add_option("--version", options->version,
                   "Its version (default: the first digits of its build id)")
      ->type_name("NAME");
  verb->add_option("--host", options->host, "Host (default: the name of this one)")
      ->type_name("NAME");
  verb->add_option("--token-file", options->token_file,
                   "File with the token of a collector, or the password of a database's user\n"
                   "(default: the environment's GEIGER_TOKEN_FILE)")
      ->type_name("FILE");
  add_label_option(*verb, options->labels, "A label of all windows, such as zone=b; repeatable");
  add_terminal_options(*verb);
  verb->footer(
      "\nWindows that were sent before are not counted again.\n"
      "\nExamples:\n"
      "  geiger push fleet.db                          the newest run here\n"
      "  geiger push --service shop --version 1.1 a.geiger fleet.db\n"
      "  geiger push --service shop a.geiger pyroscope+http://127.0.0.1:4040\n"
      "\nThen: geiger fleet top --store fleet.db (docs/guide/fleet.md)");
  verb->callback([options, &work] { work = [options] { return push(*options); }; });
}

}  // namespace geiger::cli
