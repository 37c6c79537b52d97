// `geiger push`: sends runs to the store of a fleet.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "analysis/export/pprof.h"
#include "analysis/present/format.h"
#include "analysis/present/text.h"
#include "analysis/profile/frames/labels.h"
#include "analysis/profile/select/profile.h"
#include "base/clock.h"
#include "cli/options/ending.h"
#include "cli/options/fleet_options.h"
#include "cli/options/input.h"
#include "cli/options/terminal_options.h"
#include "cli/verbs/commands.h"
#include "fleet/document/cut.h"
#include "fleet/document/encoding.h"
#include "fleet/push/followed_process.h"
#include "fleet/push/otlp_resource.h"
#include "fleet/push/sender.h"
#include "fleet/push/sinks.h"
#include "fleet/store/store.h"
#include "terminal/progress.h"
#include "terminal/terminal.h"

namespace geiger::cli {
namespace {

struct PushArguments {
  std::vector<std::string> words;  ///< RUN... and where to.
  OriginOptions origin;
  std::string token_file;
  bool is_any_age = false;  ///< To stores that refuse old runs by default.
};

/// Of the intervals in a profile's comments.
constexpr double kCommentLevel = 0.95;

/// "process 17 (its window is too long) and 3 more"; empty if there are none.
std::string text_of(const std::vector<fleet::LeftOut>& left_out,
                    const profile::Recording& recording) {
  constexpr std::size_t kMostSaid = 3;
  return present::first_of(left_out, kMostSaid, [&](const fleet::LeftOut& each) {
    return fmt::format("process {} ({})", recording.processes[each.process].pid, each.reason);
  });
}

/// Sends a document, again where the sink's protocol says so: the delays are its, or double.
fleet::Delivery deliver(const std::string& document, fleet::Sink& sink) {
  constexpr int kAttempts = 5;
  constexpr std::chrono::seconds kMostPatience{60};
  fleet::Backoff backoff(base::realtime_now());
  for (int attempt = 1;; ++attempt) {
    fleet::Delivery delivery = sink.send(document);
    if (!delivery.is_asked_again || attempt == kAttempts) return delivery;
    const std::chrono::milliseconds wait = backoff.next(delivery.retry_after);
    if (wait > kMostPatience) {
      delivery.why += fmt::format("; it asks for {} s of patience", delivery.retry_after->count());
      return delivery;
    }
    terminal::complain(fmt::format("not sent yet: {}; next attempt in {:.1f} s", delivery.why,
                                   std::chrono::duration<double>(wait).count()));
    std::this_thread::sleep_for(wait);
  }
}

struct SentDocuments {
  bool is_whole = true;   ///< Else a part was not kept.
  std::size_t known = 0;  ///< That the store had already.
};

/// Sends all of them; the first one that is not taken ends it.
base::Outcome<SentDocuments> send(const std::vector<fleet::Document>& documents,
                                  fleet::Sink& sink) {
  terminal::Progress progress("sending");
  std::size_t sent = 0;
  SentDocuments all;
  for (const fleet::Document& document : documents) {
    const fleet::Delivery delivery = deliver(fleet::pack(document), sink);
    if (!delivery.is_taken()) {
      return base::Failure{fmt::format("{} of {} windows sent; the next one was not accepted: {}",
                                       sent, documents.size(), delivery.why)};
    }
    if (!delivery.why.empty()) terminal::complain(delivery.why);
    all.is_whole = all.is_whole && delivery.what == fleet::Delivery::What::kTaken;
    all.known += delivery.is_known ? 1 : 0;
    progress.update(++sent, documents.size());
  }
  return all;
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

/// A store that refuses what ended long ago would do so after all of it was sent.
base::Outcome<void> check_age(const fleet::PushedProfile& profile,
                              const fleet::ProfileLimits& limits) {
  const std::int64_t age = static_cast<std::int64_t>(std::time(nullptr)) - profile.end;
  if (limits.seconds == 0 || age <= limits.seconds) return {};
  constexpr Nanoseconds kPerSecond = 1'000'000'000;
  const auto time = [](std::int64_t seconds) {
    return present::duration(static_cast<Nanoseconds>(seconds) * kPerSecond);
  };
  return base::Failure{fmt::format(
      "the run ended {} ago, and such stores refuse what ended more than {} ago. Push runs when "
      "they end, or, if the store takes older ones, with --any-age",
      time(age), time(limits.seconds))};
}

/// To a store of another project: the whole run as one profile, with names.
base::Outcome<int> push_profile(const PushArguments& options, const ReadOptions& read,
                                const fleet::Scheme& scheme, const std::string& to) {
  const auto input = GEIGER_TRY(only_own(read_input(read), "push"));
  auto origin = GEIGER_TRY(versioned_origin_of(options.origin, input.recording()));
  auto sink = GEIGER_TRY(fleet::open_profile_sink(scheme, to, {options.token_file, {}}));
  fleet::PushedProfile profile{
      origin.service, origin.version, origin.host, origin.labels, 0, 0, {}};
  set_extent(profile, input.recording());
  if (!options.is_any_age) GEIGER_TRY(check_age(profile, sink->limits()).with_prefix(to + ": "));
  profile.pprof = pprof_within(input.recording(), sink->limits());
  const fleet::Delivery delivery = sink->send(profile);
  if (delivery.what != fleet::Delivery::What::kTaken) {
    return base::Failure{to + ": not taken: " + delivery.why};
  }
  terminal::complain(fmt::format("a profile of {} {} on {} sent to {}", origin.service,
                                 origin.version, origin.host, to));
  return input.exit_code();
}

/// What a program that still runs, or its SDK, says of it; what is given stays.
void add_resource(fleet::Origin& origin, const OriginOptions& given,
                  const profile::Recording& recording) {
  const auto program = fleet::program_of(recording, profile::main_process(recording));
  const auto names = fleet::names_of(program, {given.service, given.version});
  origin.labels.insert(names.resource.begin(), names.resource.end());
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
  const bool is_otlp = scheme != nullptr && scheme->is_otlp;
  if (is_otlp) add_environment(options.origin);
  const auto input = GEIGER_TRY(only_own(is_otlp ? read_input(read) : read_traces(read), "push"));
  auto origin = GEIGER_TRY(is_otlp ? origin_of(options.origin, input.recording())
                                   : versioned_origin_of(options.origin, input.recording()));
  if (origin.version.empty()) origin.version = fleet::kUnknownVersion;
  if (is_otlp) add_resource(origin, options.origin, input.recording());
  const auto cut = GEIGER_TRY(fleet::cut(input.recording(), origin));
  const std::string left_out = text_of(cut.left_out, input.recording());
  if (cut.documents.empty()) return base::Failure{"nothing was sent: " + left_out};
  auto sink = GEIGER_TRY(fleet::open_sink(to, {options.token_file, {}, true}));
  const auto [is_whole, known] = GEIGER_TRY(send(cut.documents, *sink).with_prefix(to + ": "));
  const std::size_t all = cut.documents.size();
  const std::string what = fmt::format("{} of {} {} on {}", present::plural(all, "window"),
                                       origin.service, origin.version, origin.host);
  if (known == all) {
    terminal::complain(fmt::format("{}: already there, in {}", what, to));
  } else {
    terminal::complain(
        fmt::format("{} sent to {}{}", what, to,
                    known == 0 ? "" : fmt::format("; {} were already there", known)));
  }
  if (!left_out.empty()) {
    terminal::complain("not sent: " + left_out);
    return kExitFailed;
  }
  if (!is_whole) return kExitFailed;
  if (!is_otlp) suggest("fleet top --store", {to});
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
                      "pprof's format; otlp+https://HOST a profile of each window, and\n"
                      "otlp:// is where OTEL_EXPORTER_OTLP_ENDPOINT says",
                      fleet::kStoreForms))
      ->type_name("");
  add_origin_options(*verb, options->origin);
  verb->add_option("--token-file", options->token_file,
                   "File with the token of a collector, or the password of a database's user\n"
                   "(default: the environment's GEIGER_TOKEN_FILE)")
      ->type_name("FILE");
  verb->add_flag("--any-age", options->is_any_age,
                 "To Pyroscope also runs that ended more than an hour ago, which it\n"
                 "refuses by default");
  add_label_option(*verb, options->origin.labels,
                   "A label of all windows, such as zone=b; repeatable");
  add_terminal_options(*verb);
  verb->footer(
      "\nWindows that were sent before are not counted again.\n"
      "\nExamples:\n"
      "  geiger push fleet.db                          the newest run here\n"
      "  geiger push --service shop --version 1.1 a.geiger fleet.db\n"
      "  geiger push --service shop a.geiger pyroscope+http://127.0.0.1:4040\n"
      "  geiger push a.geiger otlp+http://127.0.0.1:4318\n"
      "\nThen: geiger fleet top --store fleet.db (docs/guide/fleet.md)");
  verb->callback([options, &work] { work = [options] { return push(*options); }; });
}

}  // namespace geiger::cli
