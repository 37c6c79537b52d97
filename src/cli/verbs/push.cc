// `geiger push`: sends runs to the store of a fleet.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "analysis/present/format.h"
#include "analysis/present/text.h"
#include "cli/options/foreign.h"
#include "cli/options/input.h"
#include "cli/options/next_step.h"
#include "cli/options/origin_options.h"
#include "cli/options/terminal_options.h"
#include "cli/verbs/commands.h"
#include "fleet/document/cut.h"
#include "fleet/document/encoding.h"
#include "fleet/push/sink.h"
#include "terminal/progress.h"
#include "terminal/terminal.h"

namespace geiger::cli {
namespace {

struct PushArguments {
  std::vector<std::string> words;  ///< RUN... and where to.
  std::string service, version, host;
  std::vector<std::string> labels;
};

/// The first bytes of a build id tell builds apart.
constexpr std::size_t kVersionDigits = 12;

/// What options leave open: the first process says it.
base::Outcome<fleet::Origin> origin_of(const PushArguments& options,
                                       const profile::Recording& recording) {
  fleet::Origin origin{options.service, options.version, options.host, {}};
  const std::string& executable = recording.processes.front().executable;
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
  auto labels = labels_of(options.labels);
  if (!labels.has_value()) return labels.failure();
  origin.labels = std::move(labels.value());
  return origin;
}

/// Sends all of them; the first one that is not taken ends it.
base::Outcome<void> send(const std::vector<fleet::Document>& documents, fleet::Sink& sink) {
  terminal::Progress progress("sending");
  std::size_t sent = 0;
  for (const fleet::Document& document : documents) {
    const fleet::Delivery delivery = sink.send(fleet::pack(document));
    if (delivery.what != fleet::Delivery::What::kTaken) {
      return base::Failure{fmt::format("{} of {} windows sent; the next one was not taken: {}",
                                       sent, documents.size(), delivery.why)};
    }
    progress.update(++sent, documents.size());
  }
  return {};
}

base::Outcome<int> push(PushArguments& options) {
  if (options.words.empty()) return usage_failure("push: no store given to send to");
  const std::string to = std::move(options.words.back());
  options.words.pop_back();
  ReadOptions read;
  read.runs = std::move(options.words);
  const auto input = only_own(read_traces(read), "push");
  if (!input.has_value()) return input.failure();
  const auto origin = origin_of(options, input->recording());
  if (!origin.has_value()) return origin.failure();
  const auto documents = fleet::cut(input->recording(), origin.value());
  if (!documents.has_value()) return documents.failure();
  fleet::SinkOptions sink_options;
  auto sink = fleet::open_sink(to, sink_options);
  if (!sink.has_value()) return sink.failure();
  const auto sent = send(documents.value(), *sink.value());
  if (!sent.has_value()) return base::Failure{to + ": " + sent.reason()};
  terminal::complain(fmt::format("{} of {} {} on {} sent to {}",
                                 present::plural(documents->size(), "window"), origin->service,
                                 origin->version, origin->host, to));
  suggest("fleet top --store", {to});
  return input->exit_code();
}

}  // namespace

void register_push(CLI::App& app, Work& work) {
  auto options = std::make_shared<PushArguments>();
  CLI::App* verb = app.add_subcommand("push", "Send runs to the store of a fleet");
  verb->add_option("RUN", options->words,
                   "Run directories or trace files (default: the newest here), then the\n"
                   "store to send them to: a file, as a path or file://PATH")
      ->type_name("");
  verb->add_option("--service", options->service, "Service (default: the name of the executable)")
      ->type_name("NAME");
  verb->add_option("--version", options->version,
                   "Its version (default: the first digits of its build id)")
      ->type_name("NAME");
  verb->add_option("--host", options->host, "Host (default: the name of this one)")
      ->type_name("NAME");
  add_label_option(*verb, options->labels, "A label of all windows, such as zone=b; repeatable");
  add_terminal_options(*verb);
  verb->footer(
      "\nWhat was sent before counts once, however often it is sent.\n"
      "\nExamples:\n"
      "  geiger push fleet.db                          the newest run here\n"
      "  geiger push --service shop --version 1.1 a.geiger fleet.db\n"
      "\nThen: geiger fleet top --store fleet.db (docs/fleet.md)");
  verb->callback([options, &work] { work = [options] { return push(*options); }; });
}

}  // namespace geiger::cli
